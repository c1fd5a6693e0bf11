import type {
  AgentProcess,
  AgentProcessOptions,
  ProcessEnd,
  StartAgent,
} from '../../../src/acp/process/agent-process.ts'
import { parseLine } from '../../../src/acp/wire/read-lines.ts'

/** An agent process in memory: the test reads its requests and sends its lines. */
export interface ScriptedProcess extends AgentProcess {
  /** The messages that were sent to it. */
  readonly received: readonly { readonly id?: string; readonly method?: string; readonly params?: unknown }[]
  /** Sends a line to us. */
  say(message: object): void
  /** Answers the newest request. */
  answer(result: unknown): void
  refuse(code: number, message: string): void
  exit(end?: Partial<ProcessEnd>): void
}

/** Starts processes in memory, and lists them. */
export function scriptedProcesses(): { readonly start: StartAgent; readonly processes: ScriptedProcess[] } {
  const processes: ScriptedProcess[] = []
  return {
    processes,
    start(_, options) {
      const started = scripted(options)
      processes.push(started)
      return started
    },
  }
}

function scripted({ onLine, onEnd }: AgentProcessOptions): ScriptedProcess {
  const received: { id?: string; method?: string; params?: unknown }[] = []
  const ended = Promise.withResolvers<ProcessEnd>()
  const say = (message: object) => onLine(parseLine(Buffer.from(JSON.stringify(message))))
  const reply = (rest: object) => say({ jsonrpc: '2.0', id: received.at(-1)!.id, ...rest })
  const exit = (end: Partial<ProcessEnd> = {}) => {
    onEnd()
    ended.resolve({ code: 0, signal: null, stderr: '', ...end })
  }
  const nothing = () => {}
  return {
    received,
    say,
    answer: result => reply({ result }),
    refuse: (code, message) => reply({ error: { code, message } }),
    exit,
    pid: null,
    ended: ended.promise,
    end() {
      exit()
      return ended.promise
    },
    send(line) {
      received.push(JSON.parse(line.toString()))
    },
    unsent: 0,
    pause: nothing,
    resume: nothing,
    close: nothing,
  }
}
