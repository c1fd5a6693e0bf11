import type { Reply } from '../../agent/run/events.ts'
import type { Run } from '../../agent/run/run.ts'
import { BusyError } from '../../core/errors.ts'
import type { NewMessage } from '../../core/message.ts'
import { type PrintedAnswer, printAnswer } from '../answer/print-answer.ts'
import { reportError } from '../command-line/error-report.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { type NextSteps, stopNote } from '../output/answer-ending.ts'
import { markdownSink } from '../output/markdown-sink.ts'
import { plural } from '../output/number.ts'
import { shortenId } from '../output/short-id.ts'
import { stdoutSink } from '../output/text-sink.ts'
import { formatDuration } from '../output/time.ts'
import type { Chat } from './state/chat-state.ts'
import { rememberEnd, rememberFailedEnd, showOthersWords } from './state/others-words.ts'

/** How a turn ended. */
/** `unsent`: it failed before anything of it was stored or queued. */
export type ChatTurnEnding = 'answered' | 'interrupted' | 'failed' | 'unsent' | 'busy' | 'left'

/** Sends a message, or resumes the unanswered one (null), and prints the answer. */
export async function takeTurn(
  chat: Chat,
  words: string | NewMessage | null,
  onBusy: 'refuse' | 'wait' | 'fork' = 'refuse',
): Promise<ChatTurnEnding> {
  const { controller, context } = chat
  const turn = { hasStarted: false }
  try {
    const run = words === null ? await controller.resume() : await controller.send(words, onBusy)
    const answered = await shown(run, chat, words !== null, turn)
    const { reply } = answered
    controller.follow(reply.branch)
    rememberEnd(chat, reply)
    if (words !== null) controller.remember(words, reply.text)
    followUnsaved(chat, reply)
    const stopped = stopNote(reply.stop, chatSteps)
    if (stopped !== null) chat.note(stopped)
    if (reply.status === 'complete') return 'answered'
    chat.note(stoppedText(answered, chat))
    return context.signal.aborted ? 'left' : 'interrupted'
  } catch (error) {
    if (error instanceof BusyError && words !== null && onBusy === 'refuse') return 'busy'
    // Aborted while waiting for another process: nothing was sent.
    if (error instanceof DOMException && error.name === 'AbortError') {
      chat.note('stopped: nothing was said')
      return context.signal.aborted ? 'left' : 'busy'
    }
    reportError(error, context.err)
    await rememberFailedEnd(chat).catch(() => undefined)
    return turn.hasStarted ? 'failed' : 'unsent'
  }
}

const chatSteps: NextSteps = {
  rest: 'say "continue"',
  another: '/edit changes your question, /model asks another model',
}

/** Reports messages that wait for the store and, before the next prompt, whether they were stored. */
function followUnsaved(chat: Chat, { saved, unsaved, branch, whenSaved }: Reply): void {
  const { controller, later } = chat
  if (!saved) chat.note(whenSaved ? waitingText(unsaved.length) : lostText(unsaved.length))
  void whenSaved?.then(final => {
    // If they were stored on a new branch, the chat continues there.
    controller.followFrom(branch, final.branch)
    chat.seen = null
    later.push(final.saved ? 'saved now: nothing was lost' : lostText(final.unsaved.length))
  })
}

function waitingText(messages: number): string {
  const wait = messages === 1 ? 'message waits' : 'messages wait'
  return `not saved yet: ${messages} ${wait} for the store, and will be saved when it is back`
}

function lostText(messages: number): string {
  return `${plural(messages, 'message')} could not be saved: copy what you need`
}

/** Prints a run. The first Ctrl+C aborts it, the second one exits at once, whatever the provider does. The
 *  draft in the store keeps what has arrived. */
async function shown(
  run: Run,
  chat: Chat,
  ownPrompt: boolean,
  turn: { hasStarted: boolean },
): Promise<PrintedAnswer> {
  const { context, keyboard, controller } = chat
  const { out } = context
  const markdown = out.isTerminal ? markdownSink(out) : null
  let pressed = 0
  const stopListening = keyboard?.onInterrupt(() => {
    pressed++
    if (pressed === 1) {
      markdown?.mark('^C')
      run.abort(new DOMException('interrupted', 'AbortError'))
      return
    }
    context.err.line()
    keyboard.close()
    process.exit(exitCode.interrupted)
  })
  try {
    return await printAnswer(run, context, {
      model: controller.model.id,
      sink: markdown ?? stdoutSink(context),
      more: ' /context',
      readThinking: '/think',
      // At the start, not at the end: the question of a failed turn is stored too.
      observe: async event => {
        if (event.type === 'started') {
          controller.follow(event.branch)
          controller.thinking = ''
          turn.hasStarted = true
          // Without the store, the words are shown before a later answer.
          await showOthersWords(chat, { ownPrompt }).catch(() => undefined)
        }
        if (event.type === 'thinking') controller.thinking += event.text
      },
    })
  } finally {
    stopListening?.()
  }
}

function stoppedText({ reply, tookMs }: PrintedAnswer, { keyboard, controller }: Chat): string {
  const after = `stopped after ${formatDuration(Math.max(1_000, Math.round(tookMs / 1_000) * 1_000))}`
  const again = keyboard ? ' Ctrl+C again to quit.' : ''
  if (controller.store === null) return `${after}.${again}`
  if (reply.text.trim() === '' || reply.head === null)
    return `${after}, before the first word.${keyboard ? ' Press Enter to ask again.' : ''}${again}`
  return `${after}, saved as ${shortenId(reply.head)}. Type to continue.${again}`
}
