import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { SkeinError } from '../../src/core/errors.ts'
import type { MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { turnLength, words } from './writer.ts'

/** A process that appends turns to several conversations until its standard input closes. It retries each
 *  turn with the same key until it is stored, and prints each event as a line of JSON. */

/** What the process prints. */
export type FailoverLine =
  /** Turn `turn` of this writer is stored: the acknowledgement. */
  | { readonly acknowledged: number; readonly writer: string }
  /** An attempt failed with this error and is repeated. */
  | { readonly failed: string; readonly writer: string }
  /** The branch does not have the head that was acknowledged: turns are lost. */
  | { readonly lost: string; readonly writer: string }
  | { readonly ended: true }

/** The keys of the conversations. */
export const writers = ['w1', 'w2', 'w3', 'w4'] as const

/** Errors after which the same turn is tried again. */
const temporary = ['unavailable', 'outcome_unknown', 'read_only']

if (process.argv[1] === import.meta.filename) await live(process.argv[2]!)

async function live(url: string): Promise<void> {
  const store = await openPostgresStore(url, { pool: { connectionTimeoutMillis: 5_000 } })
  let isEnding = false
  process.stdin.resume()
  const end = once(process.stdin, 'end').then(() => {
    isEnding = true
  })
  await Promise.all(writers.map(writer => write(store, writer, () => isEnding)))
  await end
  await store.close()
  print({ ended: true })
}

async function write(store: Store, writer: string, isEnding: () => boolean): Promise<void> {
  const { branch } = await insist(writer, () => store.findOrCreate(writer))
  let head: MessageId | null = null
  for (let turn = 0; !isEnding(); turn++) {
    const messages = Array.from({ length: turnLength }, (_, i): NewMessage => {
      return { role: i === 0 ? 'user' : 'assistant', content: words(writer, turn, i) }
    })
    try {
      const step = { turn: { key: `${writer} ${turn}`, step: 0 } } as const
      head = (await insist(writer, () => store.append(branch, head, messages, step))).head
    } catch (error) {
      if (!(error instanceof SkeinError)) throw error
      print({ lost: error.code, writer })
      return
    }
    print({ acknowledged: turn, writer })
    await pause(20)
  }
}

async function insist<T>(writer: string, attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      const code = error instanceof SkeinError ? error.code : String(error)
      if (!temporary.includes(code)) throw error
      print({ failed: code, writer })
      await pause(200)
    }
  }
}

function print(line: FailoverLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
