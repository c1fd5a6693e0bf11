import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'
import type { BranchRef } from '../../src/core/branch.ts'
import { OutcomeUnknownError, UnavailableError } from '../../src/core/errors.ts'
import type { MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

/** A process that writes turns until it is killed, or until it has written the requested number, and reports
 *  over a pipe which of them were acknowledged. */

/** Its mode. All except the first four are wrong on purpose, for the negative controls. */
export type Manner =
  | 'honest'
  /** Repeats a turn with its key if the disk did not store or confirm it. */
  | 'retrying'
  /** Writes several conversations side by side, so that their turns share transactions. */
  | 'parallel'
  /** Does not wait for the disk. */
  | 'normal'
  /** Reports some milliseconds before it stores. */
  | 'early'
  /** Stores the messages of a turn one by one. */
  | 'piecemeal'

/** Messages of each turn. */
export const turnLength = 3

/** The keys of the conversations of a writer. */
export function keysOf(writer: string, manner: Manner): readonly string[] {
  return Array.from({ length: manner === 'parallel' ? 8 : 1 }, (_, i) =>
    i === 0 ? writer : `${writer}/${i}`,
  )
}

/** The text of message `i` of a turn. Every fifth turn ends with a text that becomes a blob. */
export function words(writer: string, turn: number, i: number): string {
  const long = turn % 5 === 4 && i === turnLength - 1
  return `${writer} ${turn} ${i}${long ? ` ${'blob '.repeat(4_000)}` : ''}`
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))

if (process.argv[1] === import.meta.filename) {
  const [target, writer, manner, turns] = process.argv.slice(2) as [string, string, Manner, string]
  await live(target, writer, manner, Number(turns))
}

async function live(target: string, writer: string, manner: Manner, turns: number): Promise<void> {
  const store = await openSqliteStore(target, manner === 'normal' ? { durability: 'normal' } : {})
  const branches = new Map<string, BranchRef>()
  for (const key of keysOf(writer, manner)) branches.set(key, (await store.findOrCreate(key)).branch)
  // Node writes the cache at a normal exit, which this process never reaches.
  flushCompileCache()
  tell('ready')
  await new Promise(go => process.stdin.once('data', go))
  process.stdin.destroy()
  await Promise.all(Array.from(branches, ([key, branch]) => write(store, key, branch, manner, turns)))
  await store.close()
}

async function write(
  store: Store,
  key: string,
  branch: BranchRef,
  manner: Manner,
  turns: number,
): Promise<void> {
  let head: MessageId | null = null
  for (let turn = 0; turn < turns; turn++) {
    const messages = Array.from({ length: turnLength }, (_, i): NewMessage => {
      return { role: i === 0 ? 'user' : 'assistant', content: words(key, turn, i) }
    })
    if (manner === 'early') {
      tell(`stored ${turn} ${key}`)
      await pause(5)
    }
    for (const [i, message] of messages.entries()) {
      if (manner !== 'piecemeal' && i > 0) break
      const part = manner === 'piecemeal' ? [message] : messages
      if (manner === 'retrying') head = await appendUntilStored(store, branch, head, part, `${key} ${turn}`)
      else head = (await store.append(branch, head, part)).head
    }
    if (manner !== 'early') tell(`stored ${turn} ${key}`)
    // Yields as a real process does, so that checkpoints and other work can run.
    await new Promise(setImmediate)
  }
}

async function appendUntilStored(
  store: Store,
  branch: BranchRef,
  head: MessageId | null,
  messages: readonly NewMessage[],
  key: string,
): Promise<MessageId> {
  try {
    return (await store.append(branch, head, messages, { turn: { key, step: 0 } })).head
  } catch (error) {
    if (!(error instanceof OutcomeUnknownError || error instanceof UnavailableError)) throw error
    tell(`${error instanceof OutcomeUnknownError ? 'unknown' : 'refused'} ${key}`)
    return appendUntilStored(store, branch, head, messages, key)
  }
}

/** Waits while the pipe is full: on a loaded machine, the reader may be slower than this process. */
function tell(line: string): void {
  for (;;) {
    try {
      writeSync(1, `${line}\n`)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      Atomics.wait(sleeper, 0, 0, 1)
    }
  }
}
