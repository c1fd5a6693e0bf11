import type { TerminalChange } from '../transcript/terminal.ts'
import { terminalInAnswer } from '../transcript/terminal.ts'
import type { WireLine } from '../wire/wire-line.ts'
import type { ProxySession } from './proxy-sessions.ts'

/** Open requests of the agent about terminals of the client, whose answers contain the output of commands. */
export interface TerminalLog {
  /** A request, as the client receives it. */
  asked(line: WireLine, session: ProxySession): void
  /** News of a terminal, if this line answers such a request. */
  answered(line: WireLine): { readonly session: ProxySession; readonly change: TerminalChange } | null
}

const methods = new Set(['terminal/output', 'terminal/wait_for_exit'])

/** Whether the answer to a request of the agent contains news of a terminal. */
export function asksForTerminal(method: string | undefined): boolean {
  return method !== undefined && methods.has(method)
}

export function createTerminalLog(): TerminalLog {
  const open = new Map<string, { readonly session: ProxySession; readonly terminalId: string }>()
  return {
    asked({ message }, session) {
      const { id, params } = message!
      if (id !== undefined && typeof params?.terminalId === 'string')
        open.set(JSON.stringify(id), { session, terminalId: params.terminalId })
    },
    answered({ message }) {
      const key = JSON.stringify(message?.id)
      const found = open.get(key)
      if (!found) return null
      open.delete(key)
      const change = terminalInAnswer(found.terminalId, message?.result)
      return change && { session: found.session, change }
    },
  }
}
