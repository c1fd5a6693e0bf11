import { type NewMessage, textOf } from '../../core/message.ts'
import { unsavedIn } from '../../recorder/waiting-turns.ts'
import { exit } from '../command-line/exit-code.ts'
import { report } from '../command-line/report.ts'
import type { Paper } from '../output/output.ts'
import type { Chosen } from '../target/choose-conversation.ts'
import type { Keyboard } from './input/keyboard.ts'
import { type Reading, readLine } from './input/read-line.ts'
import { chatCompleter, runSlash } from './slash/run-slash.ts'
import type { Chat } from './state/chat-state.ts'
import { showLastExchange } from './state/last-exchange.ts'
import { type StatusFacts, statusLine } from './state/status-line.ts'
import { type TurnEnding, takeTurn } from './take-turn.ts'

/** Header, last exchange, status line, prompt, and so on until one leaves. */
export async function talkOnTerminal(chat: Chat, keyboard: Keyboard, chosen: Chosen): Promise<number> {
  const { typed, world } = chat
  const { err } = world
  if (chosen.standing?.head) await showLastExchange(chat)
  let unanswered = chosen.standing?.unanswered === true
  /** True if the next Ctrl+C leaves. */
  let warned = false
  let initial = ''
  let facts: StatusFacts | null = null

  for (;;) {
    facts = await statusOr(facts, chat)
    for (const note of chat.later.splice(0)) chat.note(note)
    err.line()
    const read = await readLine({
      keyboard,
      paper: err,
      ...statusAbove(facts, err),
      initial,
      typed,
      complete: chatCompleter(chat),
    })
    initial = ''
    if (read.type === 'leave') return world.signal.aborted ? exit.interrupted : exit.ok
    if (read.type === 'interrupt') {
      if (warned) return exit.interrupted
      chat.note('Ctrl+C again leaves. Ctrl+D and /quit do too')
      warned = true
      continue
    }
    warned = false
    if (read.text.trim() === '') {
      if (!unanswered) continue
      const ending = await takeTurn(chat, null)
      if (ending === 'left') return exit.interrupted
      unanswered = ending !== 'answered' && (await hasNoAnswer(chat))
      warned = ending === 'interrupted'
      continue
    }
    typed.add(read.text)
    const done = await runSlash(chat, read.text)
    if (done.type === 'leave') return exit.ok
    if (done.type === 'edit') initial = done.text
    if (done.type !== 'send') {
      unanswered = await hasNoAnswer(chat)
      continue
    }
    const ending = await sendOrAsk(chat, keyboard, done.words)
    if (ending === 'left') return exit.interrupted
    if (ending === 'busy')
      initial = textOf(typeof done.words === 'string' ? { blocks: done.words } : done.words)
    unanswered = ending !== 'answered' && (await hasNoAnswer(chat))
    if (ending === 'failed' && unanswered)
      chat.note('your last message has no answer yet: Enter asks it again')
    warned = ending === 'interrupted'
  }
}

/** Where somebody else is answering, the person decides. */
async function sendOrAsk(chat: Chat, keyboard: Keyboard, words: string | NewMessage): Promise<TurnEnding> {
  const ending = await takeTurn(chat, words)
  if (ending !== 'busy') return ending
  chat.note(
    'someone is answering here. w waits for it, b goes beside it on a branch, any other key goes back',
  )
  const stroke = await keyboard.next()
  const key = stroke.type === 'text' ? stroke.text.toLowerCase() : ''
  if (key === 'w') return takeTurn(chat, words, 'wait')
  if (key === 'b') return takeTurn(chat, words, 'fork')
  return 'busy'
}

async function hasNoAnswer({ talker }: Chat): Promise<boolean> {
  try {
    if (!talker.store) return false
    const waiting = unsavedIn(talker.store).messages.at(-1)
    if (waiting) return waiting.role === 'user'
    const spot = await talker.spot()
    if (!spot?.head) return false
    const [last] = await talker.store.getMessages([spot.head], { blobs: 'preview' })
    return last?.role === 'user'
  } catch {
    // Whoever cannot read that is told so by the next thing they do.
    return false
  }
}

/** A store that cannot be read for a moment is no reason to hang up: what was known last is shown. */
async function statusOr(last: StatusFacts | null, { talker, world }: Chat): Promise<StatusFacts | null> {
  try {
    return await talker.status()
  } catch (error) {
    report(error, world.err)
    return last
  }
}

function statusAbove(facts: StatusFacts | null, { style }: Paper): Pick<Reading, 'status'> {
  return facts ? { status: width => statusLine(facts, width, style) } : {}
}
