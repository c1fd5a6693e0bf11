import type { Reply } from '../../agent/events.ts'
import type { Run } from '../../agent/run.ts'
import { BusyError } from '../../core/errors.ts'
import type { NewMessage } from '../../core/message.ts'
import { type Answered, printAnswer } from '../answer/print-answer.ts'
import { exit } from '../command-line/exit-code.ts'
import { report } from '../command-line/report.ts'
import { markdownSink } from '../output/markdown-sink.ts'
import { plural } from '../output/number.ts'
import { shortened } from '../output/short-id.ts'
import { stdoutSink } from '../output/text-sink.ts'
import { duration } from '../output/time.ts'
import type { Chat } from './state/chat-state.ts'

/** How a turn ended for the person. */
export type TurnEnding = 'answered' | 'interrupted' | 'failed' | 'busy' | 'left'

/** Says something, or asks again for an answer that never came (null), and shows what comes. */
export async function takeTurn(
  chat: Chat,
  words: string | NewMessage | null,
  onBusy: 'refuse' | 'wait' | 'fork' = 'refuse',
): Promise<TurnEnding> {
  const { talker, world } = chat
  try {
    const run = words === null ? await talker.resume() : await talker.send(words, onBusy)
    const answered = await shown(run, chat)
    const { reply } = answered
    talker.follow(reply.branch)
    if (words !== null) talker.heard(words, reply.text)
    followUnsaved(chat, reply)
    if (reply.status === 'complete') return 'answered'
    chat.note(stoppedText(answered, chat))
    return world.signal.aborted ? 'left' : 'interrupted'
  } catch (error) {
    if (error instanceof BusyError && words !== null && onBusy === 'refuse') return 'busy'
    // Stopped before anything was said: while waiting for somebody else.
    if (error instanceof DOMException && error.name === 'AbortError') {
      chat.note('stopped: nothing was said')
      return world.signal.aborted ? 'left' : 'busy'
    }
    report(error, world.err)
    return 'failed'
  }
}

/** Says that messages wait for the store, and later, before the next prompt, what became of them. */
function followUnsaved(chat: Chat, { saved, unsaved, branch, whenSaved }: Reply): void {
  const { talker, later } = chat
  if (!saved) chat.note(whenSaved ? waitingText(unsaved.length) : lostText(unsaved.length))
  void whenSaved?.then(final => {
    // They may have had to go to a branch of their own: the chat goes where they are.
    talker.followFrom(branch, final.branch)
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

/** Shows a run; the first Ctrl+C stops it, a second one leaves at once, whatever the provider does. What had
 *  arrived is on the disk, and the next one who comes finds it. */
async function shown(run: Run, { world, keyboard, talker }: Chat): Promise<Answered> {
  const { out } = world
  const markdown = out.isTerminal ? markdownSink(out) : null
  let pressed = 0
  const stopListening = keyboard?.onInterrupt(() => {
    pressed++
    if (pressed === 1) {
      markdown?.mark('^C')
      run.abort(new DOMException('interrupted', 'AbortError'))
      return
    }
    world.err.line()
    keyboard.close()
    process.exit(exit.interrupted)
  })
  try {
    return await printAnswer(run, world, {
      model: talker.model.id,
      sink: markdown ?? stdoutSink(world),
      more: ' /context',
      // At once, not at the end: a turn that fails has been said all the same.
      observe: event => {
        if (event.type === 'started') talker.follow(event.branch)
      },
    })
  } finally {
    stopListening?.()
  }
}

function stoppedText({ reply, tookMs }: Answered, { keyboard, talker }: Chat): string {
  const after = `stopped after ${duration(Math.max(1_000, Math.round(tookMs / 1_000) * 1_000))}`
  const again = keyboard ? ' Ctrl+C again leaves.' : ''
  if (talker.store === null) return `${after}.${again}`
  if (reply.text.trim() === '' || reply.head === null)
    return `${after}, before anything was said.${keyboard ? ' Enter asks again.' : ''}${again}`
  return `${after}, kept as ${shortened(reply.head)}. Say anything to go on.${again}`
}
