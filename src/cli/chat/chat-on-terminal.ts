import { type NewMessage, textOf } from '../../core/message.ts'
import { unsavedIn } from '../../recorder/waiting-turns.ts'
import { reportError } from '../command-line/error-report.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { noteLine } from '../output/print.ts'
import { shortenId } from '../output/short-id.ts'
import type { ChosenConversation } from '../target/choose-conversation.ts'
import { editInProgram } from './input/edit-in-program.ts'
import type { Keyboard } from './input/keyboard.ts'
import { type ReadLineOptions, readLine } from './input/read-line.ts'
import { chatCompleter, runSlash } from './slash/run-slash.ts'
import { messageWithFiles, pastedPicture } from './state/attached-files.ts'
import type { Chat } from './state/chat-state.ts'
import { printLastExchange } from './state/last-exchange.ts'
import { showOthersWords } from './state/others-words.ts'
import { type PendingTurn, pendingText, readPendingTurn, sentAlongText } from './state/pending-turn.ts'
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
  let pending = await readPendingTurn(chat.controller)
  if (pending?.what === 'approvals') chat.note(pendingText(pending))
  /** True if the next Ctrl+C exits. */
  let warned = false
  let initial = ''
  let facts: StatusFacts | null = null
  let ending: ChatTurnEnding | null = null

  for (;;) {
    facts = await statusOr(facts, chat, ending)
    ending = null
    for (const note of newNotes(chat)) chat.note(note)
    await showOthersWords(chat, { ownPrompt: false }).catch(() => undefined)
    err.line()
    const read = await readLine({
      keyboard,
      output: err,
      ...statusAbove(facts, chat),
      news: () => (context.quiet ? [] : newNotes(chat).map(note => noteLine(note, err))),
      initial,
      history,
      complete: chatCompleter(chat),
      edit: text => editLine(chat, keyboard, text),
      pasted: text => pastedPicture(text, context),
    })
    initial = ''
    if (read.type === 'leave') return context.signal.aborted ? exitCode.interrupted : exitCode.ok
    if (read.type === 'interrupt') {
      if (warned) return exitCode.interrupted
      chat.note('Ctrl+C again to quit. Ctrl+D and /quit do too')
      warned = true
      continue
    }
    warned = false
    if (read.text.trim() === '') {
      if (chat.attached.length > 0 && !pending) chat.note('say what to do with the attached files')
      if (!pending) continue
      ending = await takeTurn(chat, null)
      if (ending === 'left') return exitCode.interrupted
      pending = await pendingAfter(ending, chat)
      warned = ending === 'interrupted'
      continue
    }
    history.add(read.text)
    const done = await runSlash(chat, read.text)
    if (done.type === 'leave') return exitCode.ok
    if (done.type === 'edit') initial = done.text
    if (done.type !== 'send' && done.type !== 'answer') {
      pending = await readPendingTurn(chat.controller)
      continue
    }
    let words: string | NewMessage = ''
    if (done.type === 'send') {
      try {
        words = await messageWithFiles(chat, done.words, read.typed)
      } catch (error) {
        reportError(error, err)
        initial = read.text
        continue
      }
    }
    // Between what the person says and what is answered.
    err.line()
    if (done.type === 'send' && pending?.what === 'questions')
      chat.say(`  ${err.style.faint(sentAlongText(pending.count))}`)
    ending = done.type === 'answer' ? await takeTurn(chat, null) : await sendOrAsk(chat, keyboard, words)
    if (ending === 'left') return exitCode.interrupted
    if (ending === 'unsent')
      chat.note('not sent: your words are back in the prompt. Press Enter to try again')
    if (done.type === 'send') {
      if (ending === 'busy' || ending === 'unsent')
        initial = textOf(typeof words === 'string' ? { content: words } : words)
      else chat.attached = []
    }
    pending = await pendingAfter(ending, chat)
    warned = ending === 'interrupted'
  }
}

/** Ctrl+G: the text in the user's editor. Null if it stays as it is. */
async function editLine({ context }: Chat, keyboard: Keyboard, text: string): Promise<string | null> {
  try {
    return await keyboard.lend(() => editInProgram(text, context.env))
  } catch (error) {
    reportError(error, context.err)
    return null
  }
}

/** What an empty line resumes after a turn. Says so after a failure. The user who has stopped an answer does
 *  not want it continued by an empty line. */
async function pendingAfter(ending: ChatTurnEnding, chat: Chat): Promise<PendingTurn | null> {
  if (ending === 'answered') return null
  const pending = await readPendingTurn(chat.controller)
  if ((ending === 'interrupted' || ending === 'stopped') && pending?.what === 'answer') return null
  if (pending?.what === 'approvals') chat.note(pendingText(pending))
  if (ending !== 'failed' || !pending || pending.what === 'approvals') return pending
  if (pending.what === 'questions') chat.note(pendingText(pending))
  else if (pending.message === null) chat.note(`the partial answer is not saved yet: ${pendingText(pending)}`)
  else chat.note(`the partial answer is saved as ${shortenId(pending.message)}: ${pendingText(pending)}`)
  return pending
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
    'another process is answering here. w: wait for it, b: send on a new branch, any other key: cancel',
  )
  const stroke = await keyboard.next()
  const key = stroke.type === 'text' ? stroke.text.toLowerCase() : ''
  if (key === 'w') return takeTurn(chat, words, 'wait')
  if (key === 'b') return takeTurn(chat, words, 'fork')
  return 'busy'
}

/** If the store cannot be read, reports it and keeps the last known status. Right after a turn that could not
 *  be sent, the user has been told; and while messages wait for the store, the status line counts them. */
async function statusOr(
  last: StatusFacts | null,
  { controller, context }: Chat,
  ending: ChatTurnEnding | null,
): Promise<StatusFacts | null> {
  try {
    return await controller.status()
  } catch (error) {
    if (ending !== 'unsent' && unsavedCount(controller) === 0) reportError(error, context.err)
    return last
  }
}

function unsavedCount({ store }: Chat['controller']): number {
  return store ? unsavedIn(store).messages.length : 0
}

/** Notes that have not been printed: messages were lost, or everything is saved. */
function newNotes({ later, saving }: Chat): readonly string[] {
  const saved = saving.done()
  return [...later.splice(0), ...(saved === null ? [] : [saved])]
}

function statusAbove(
  facts: StatusFacts | null,
  { context, attached, controller }: Chat,
): Pick<ReadLineOptions, 'status'> {
  if (facts === null) return {}
  const names = attached.map(({ name, type }) => name ?? type)
  return {
    // Counted each time: the messages may be stored while the user types.
    status: width =>
      statusLine({ ...facts, unsaved: unsavedCount(controller), attached: names }, width, context.err.style),
  }
}
