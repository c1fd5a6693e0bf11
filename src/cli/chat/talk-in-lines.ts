import { createInterface } from 'node:readline'
import { exit } from '../command-line/exit-code.ts'
import { runSlash } from './slash/run-slash.ts'
import type { Chat } from './state/chat-state.ts'
import { takeTurn } from './take-turn.ts'

/** Lines in, answers out, until the input ends. Somebody else's answer on the branch is gone beside, as nobody can be
 *  asked. A line that fails does not keep the next one from being said; the exit code tells. */
export async function talkInLines(chat: Chat): Promise<number> {
  const { world } = chat
  let code: number = exit.ok
  const lines = createInterface({ input: world.stdin, crlfDelay: Number.POSITIVE_INFINITY, terminal: false })
  const stop = () => lines.close()
  world.signal.addEventListener('abort', stop)
  try {
    for await (const line of lines) {
      if (world.signal.aborted) break
      if (line.trim() === '') continue
      const done = await runSlash(chat, line)
      if (done.type === 'leave') break
      const words = done.type === 'send' ? done.words : null
      if (words === null) {
        if (done.type === 'failed') code = exit.failure
        continue
      }
      const ending = await takeTurn(chat, words, 'fork')
      if (ending === 'failed') code = exit.failure
      if (ending === 'interrupted' || ending === 'left') return exit.interrupted
    }
  } finally {
    world.signal.removeEventListener('abort', stop)
    lines.close()
  }
  return world.signal.aborted ? exit.interrupted : code
}
