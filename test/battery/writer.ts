import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import type { MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

/** A process that writes turns until it is killed, or until it has written the requested number, and reports
 *  over a pipe which of them were acknowledged. */

/** Its mode. All except `honest` and `normal` are wrong on purpose, for the negative controls. */
export type Manner =
  | 'honest'
  /** Does not wait for the disk. */
  | 'normal'
  /** Reports before it has stored. */
  | 'early'
  /** Stores the messages of a turn one by one. */
  | 'piecemeal'

/** Messages of each turn. */
export const turnLength = 3

/** The text of message `i` of a turn. Every fifth turn ends with a text that becomes a blob. */
export function words(writer: string, turn: number, i: number): string {
  const long = turn % 5 === 4 && i === turnLength - 1
  return `${writer} ${turn} ${i}${long ? ` ${'blob '.repeat(4_000)}` : ''}`
}

if (process.argv[1] === import.meta.filename) {
  const [target, writer, manner, turns] = process.argv.slice(2) as [string, string, Manner, string]
  await live(target, writer, manner, Number(turns))
}

async function live(target: string, writer: string, manner: Manner, turns: number): Promise<void> {
  const store = await openSqliteStore(target, manner === 'normal' ? { durability: 'normal' } : {})
  const { branch } = await store.findOrCreate(writer)
  // Node writes the cache at a normal exit, which this process never reaches.
  flushCompileCache()
  tell('ready')
  await new Promise(go => process.stdin.once('data', go))
  process.stdin.destroy()
  let head: MessageId | null = null
  for (let turn = 0; turn < turns; turn++) {
    const messages = Array.from({ length: turnLength }, (_, i): NewMessage => {
      return { role: i === 0 ? 'user' : 'assistant', content: words(writer, turn, i) }
    })
    if (manner === 'early') tell(`stored ${turn}`)
    for (const [i, message] of messages.entries()) {
      if (manner !== 'piecemeal' && i > 0) break
      const part = manner === 'piecemeal' ? [message] : messages
      head = (await store.append(branch, head, part)).head
    }
    if (manner !== 'early') tell(`stored ${turn}`)
    // Yields as a real process does, so that checkpoints and other work can run.
    await new Promise(setImmediate)
  }
  await store.close()
}

function tell(line: string): void {
  writeSync(1, `${line}\n`)
}
