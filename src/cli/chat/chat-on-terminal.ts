import { type NewMessage, textOf } from '../../core/message.ts'
import { unsavedIn } from '../../recorder/waiting-turns.ts'
import { reportError } from '../command-line/error-report.ts'
import { exitCode } from '../command-line/exit-code.ts'
import type { Output } from '../output/output.ts'
import type { ChosenConversation } from '../target/choose-conversation.ts'
import type { Keyboard } from './input/keyboard.ts'
import { type ReadLineOptions, readLine } from './input/read-line.ts'
import { runSlash, slashCompleter } from './slash/run-slash.ts'
import type { Chat } from './state/chat-state.ts'
import { printLastExchange } from './state/last-exchange.ts'
import { type StatusFacts, statusLine } from './state/status-line.ts'
import { type ChatTurnEnding, takeTurn } from './take-turn.ts'

/** Prints header, last exchange, status line and prompt, and runs turns until the user leaves. */
export async function chatOnTerminal(
  chat: Chat,
  keyboard: Keyboard,
  chosen: ChosenConversation,
): Promise<number> {
  const { history, context } = chat
  const { err } = context
  if (chosen.status?.head) await printLastExchange(chat)
  let unanswered = chosen.status?.unanswered === true
  /** True if the next Ctrl+C exits. */
  let warned = false
  let initial = ''
  let facts: StatusFacts | null = null

  for (;;) {
    facts = await statusOr(facts, chat)
    for (const note of chat.later.splice(0)) chat.note(note)
    err.line()
    const read = await readLine({
      keyboard,
      output: err,
      ...statusAbove(facts, err),
      initial,
      history,
      complete: slashCompleter(chat),
    })
    initial = ''
    if (read.type === 'leave') return context.signal.aborted ? exitCode.interrupted : exitCode.ok
    if (read.type === 'interrupt') {
      if (warned) return exitCode.interrupted
      chat.note('Ctrl+C again leaves. Ctrl+D and /quit do too')
      warned = true
      continue
    }
    warned = false
    if (read.text.trim() === '') {
      if (!unanswered) continue
      const ending = await takeTurn(chat, null)
      if (ending === 'left') return exitCode.interrupted
      unanswered = ending !== 'answered' && (await hasNoAnswer(chat))
      warned = ending === 'interrupted'
      continue
    }
    history.add(read.text)
    const done = await runSlash(chat, read.text)
    if (done.type === 'leave') return exitCode.ok
    if (done.type === 'edit') initial = done.text
    if (done.type !== 'send') {
      unanswered = await hasNoAnswer(chat)
      continue
    }
    const ending = await sendOrAsk(chat, keyboard, done.words)
    if (ending === 'left') return exitCode.interrupted
    if (ending === 'busy')
      initial = textOf(typeof done.words === 'string' ? { content: done.words } : done.words)
    unanswered = ending !== 'answered' && (await hasNoAnswer(chat))
    if (ending === 'failed' && unanswered)
      chat.note('your last message has no answer yet: Enter asks it again')
    warned = ending === 'interrupted'
  }
}

/** Sends, and asks what to do if another process is answering on the branch. */
async function sendOrAsk(
  chat: Chat,
  keyboard: Keyboard,
  words: string | NewMessage,
): Promise<ChatTurnEnding> {
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

async function hasNoAnswer({ controller }: Chat): Promise<boolean> {
  try {
    if (!controller.store) return false
    const waiting = unsavedIn(controller.store).messages.at(-1)
    if (waiting) return waiting.role === 'user'
    const position = await controller.position()
    if (!position?.head) return false
    const [last] = await controller.store.getMessages([position.head], { blobs: 'preview' })
    return last?.role === 'user'
  } catch {
    // The next command reports the same error.
    return false
  }
}

/** If the store cannot be read, reports it and keeps the last known status. */
async function statusOr(
  last: StatusFacts | null,
  { controller, context }: Chat,
): Promise<StatusFacts | null> {
  try {
    return await controller.status()
  } catch (error) {
    reportError(error, context.err)
    return last
  }
}

function statusAbove(facts: StatusFacts | null, { style }: Output): Pick<ReadLineOptions, 'status'> {
  return facts ? { status: width => statusLine(facts, width, style) } : {}
}
