import type { Reply } from '../../agent/run/events.ts'
import type { Run } from '../../agent/run/run.ts'
import { BusyError } from '../../core/errors.ts'
import type { NewMessage } from '../../core/message.ts'
import { interruptPresses } from '../answer/interrupt-presses.ts'
import { type PrintedAnswer, printAnswer } from '../answer/print-answer.ts'
import { reportError } from '../command-line/error-report.ts'
import { type NextSteps, stopNote } from '../output/ending-words.ts'
import { markdownSink } from '../output/markdown-sink.ts'
import { plural } from '../output/number.ts'
import { shortenId } from '../output/short-id.ts'
import { stdoutSink } from '../output/text-sink.ts'
import { formatDuration } from '../output/time.ts'
import type { Chat } from './state/chat-state.ts'
import { rememberEnd, rememberFailedEnd, showOthersWords } from './state/others-words.ts'

/** How a turn ended. `interrupted` by Ctrl+C, `stopped` by Escape. `unsent`: it failed before anything of it
 *  was stored or queued. */
export type ChatTurnEnding = 'answered' | 'interrupted' | 'stopped' | 'failed' | 'unsent' | 'busy' | 'left'

/** Sends a message, or resumes the unanswered one (null), and prints the answer. */
export async function takeTurn(
  chat: Chat,
  words: string | NewMessage | null,
  onBusy: 'refuse' | 'wait' | 'fork' = 'refuse',
): Promise<ChatTurnEnding> {
  const { controller, context } = chat
  const turn: StartedTurn = { hasStarted: false, leaves: false, stoppedBy: null }
  try {
    const run = words === null ? await controller.resume() : await controller.send(words, onBusy)
    const answered = await shown(run, chat, words !== null, turn)
    const { reply } = answered
    controller.follow(reply.branch)
    rememberEnd(chat, reply)
    chat.lastText = reply.text
    if (words !== null) controller.remember(words, reply.text)
    followUnsaved(chat, reply)
    const stopped = stopNote(reply, chatSteps)
    if (stopped !== null) chat.note(stopped)
    if (reply.status === 'complete') return 'answered'
    if (!turn.leaves) chat.note(stoppedText(answered, chat, turn.stoppedBy))
    if (context.signal.aborted || turn.leaves) return 'left'
    return turn.stoppedBy === 'escape' ? 'stopped' : 'interrupted'
  } catch (error) {
    if (error instanceof BusyError && words !== null && onBusy === 'refuse') return 'busy'
    // Aborted while waiting for another process: nothing was sent.
    if (error instanceof DOMException && error.name === 'AbortError') {
      chat.note('stopped: nothing was sent')
      return context.signal.aborted ? 'left' : 'busy'
    }
    reportError(error, context.err)
    const waiting = chat.saving.waiting()
    if (waiting !== null) chat.note(waiting)
    await rememberFailedEnd(chat).catch(() => undefined)
    if (turn.leaves) return 'left'
    return turn.hasStarted ? 'failed' : 'unsent'
  }
}

/** What is known of a turn while it runs. */
interface StartedTurn {
  hasStarted: boolean
  /** True if the user leaves the chat after it. */
  leaves: boolean
  /** The key that stopped the answer. */
  stoppedBy: 'interrupt' | 'escape' | null
}

const chatSteps: NextSteps = {
  rest: 'say "continue"',
  another: '/edit changes your question, /model asks another model',
}

/** Reports messages that wait for the store, and those that can never be stored. */
function followUnsaved(chat: Chat, { saved, unsaved, branch, whenSaved }: Reply): void {
  const { controller, later, saving, keyboard } = chat
  if (!saved && !whenSaved) chat.note(lostText(unsaved.length))
  const waiting = saving.waiting()
  if (waiting !== null) chat.note(waiting)
  void whenSaved?.then(final => {
    // If they were stored on a new branch, the chat continues there.
    controller.followFrom(branch, final.branch)
    chat.seen = null
    if (!final.saved) {
      saving.lose()
      later.push(lostText(final.unsaved.length))
    }
    keyboard?.repaint()
  })
}

function lostText(messages: number): string {
  return `${plural(messages, 'message')} could not be saved: copy what you need`
}

/** Prints a run. Ctrl+C aborts it: see `interruptPresses`. */
async function shown(run: Run, chat: Chat, ownPrompt: boolean, turn: StartedTurn): Promise<PrintedAnswer> {
  const { context, keyboard, controller } = chat
  const { out } = context
  const markdown = out.isTerminal ? markdownSink(out) : null
  const presses = interruptPresses(run, context, {
    onAbort: () => turn.stoppedBy !== 'escape' && markdown?.mark('^C'),
    onNote: () => markdown?.pause(),
    onExit: () => keyboard?.close(),
  })
  const stopListening = keyboard?.onInterrupt(by => {
    // A second Escape is not a wish to leave.
    if (by === 'escape' && turn.stoppedBy !== null) return
    turn.stoppedBy ??= by
    presses.press()
  })
  try {
    return await printAnswer(run, context, {
      model: controller.model.id,
      sink: markdown ?? stdoutSink(context),
      more: ' /context',
      readThinking: '/think',
      isForeign: controller.host !== null,
      saving: chat.saving,
      // At the start, not at the end: the question of a failed turn is stored too.
      observe: async event => {
        if (event.type === 'started') {
          controller.follow(event.branch)
          controller.thinking = ''
          turn.hasStarted = true
          chat.hasSpoken = true
          // Without the store, the words are shown before a later answer.
          await showOthersWords(chat, { ownPrompt }).catch(() => undefined)
        }
        if (event.type === 'thinking') controller.thinking += event.text
      },
    })
  } finally {
    turn.leaves = presses.leaves
    presses.end()
    stopListening?.()
  }
}

function stoppedText(
  { reply, tookMs }: PrintedAnswer,
  { keyboard, controller }: Chat,
  by: StartedTurn['stoppedBy'],
): string {
  const after = `stopped after ${formatDuration(Math.max(1_000, Math.round(tookMs / 1_000) * 1_000))}`
  const again = keyboard && by !== 'escape' ? ' Ctrl+C again to quit.' : ''
  if (controller.store === null || !reply.saved) return `${after}.${again}`
  if (reply.text.trim() === '' || reply.head === null)
    return `${after}, before the first word.${keyboard ? ' Press Enter to ask again.' : ''}${again}`
  return `${after}, saved as ${shortenId(reply.head)}. Type to continue.${again}`
}
