import { readFile } from 'node:fs/promises'
import { vi } from 'vitest'
import type { ConnectionHandlers } from '../../../src/acp/wire/connection.ts'

/** The events of a connection, in order: lines as text, `end` with its reason, `drain`. */
export interface Heard extends ConnectionHandlers {
  readonly events: string[]
  readonly lines: readonly string[]
  /** Resolves when the connection has ended. */
  readonly over: Promise<void>
}

export function heard(onLine: (text: string) => void = () => {}): Heard {
  const events: string[] = []
  const lines: string[] = []
  const over = Promise.withResolvers<void>()
  return {
    events,
    lines,
    over: over.promise,
    onLine({ bytes }) {
      const text = bytes.toString()
      events.push(text)
      lines.push(text)
      onLine(text)
    },
    onEnd(reason) {
      events.push(reason ? `end: ${reason.message}` : 'end')
      over.resolve()
    },
    onDrain() {
      events.push('drain')
    },
  }
}

/** Waits until the condition holds. */
export async function until<T>(what: () => T | Promise<T>): Promise<T> {
  return (await vi.waitUntil(what, { timeout: 10_000, interval: 5 })) as T
}

/** Whether a process is alive. A zombie is not. */
export async function lives(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (status !== null) return !/\) [ZX] /.test(status)
  if (process.platform === 'linux') return false
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
