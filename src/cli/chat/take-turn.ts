import type { Run } from '../../agent/run.ts'
import { BusyError } from '../../core/errors.ts'
import { report } from '../report.ts'
import { type Answered, printAnswer, stdoutSink } from '../talk/answer.ts'
import { shortened } from '../terminal/short-id.ts'
import { duration } from '../terminal/time.ts'
import type { Chat } from './chat-state.ts'
import { markdownSink } from './markdown-sink.ts'

/** How a turn ended for the person. */
export type TurnEnding = 'answered' | 'interrupted' | 'failed' | 'busy' | 'left'

/** Says something, or asks again for an answer that never came (null), and shows what comes. */
export async function takeTurn(
  chat: Chat,
  words: string | null,
  onBusy: 'refuse' | 'wait' | 'fork' = 'refuse',
): Promise<TurnEnding> {
  const { talker, world } = chat
  try {
    const run = words === null ? await talker.resume() : await talker.send(words, onBusy)
    const { answered, left } = await shown(run, chat)
    if (answered === null) return 'left'
    const { reply } = answered
    talker.follow(reply.branch)
    if (words !== null) talker.heard(words, reply.text)
    if (!reply.saved) chat.note(`not everything is saved: ${reply.unsaved.length} messages wait`)
    if (reply.status === 'complete') return left ? 'left' : 'answered'
    chat.note(stoppedText(answered, chat))
    return left || world.signal.aborted ? 'left' : 'interrupted'
  } catch (error) {
    if (error instanceof BusyError && words !== null && onBusy === 'refuse') return 'busy'
    report(error, world.err)
    return 'failed'
  }
}

/** Shows a run; the first Ctrl+C stops it, a second one leaves at once. */
async function shown(run: Run, chat: Chat): Promise<{ answered: Answered | null; left: boolean }> {
  const { world, keyboard, talker } = chat
  const { out } = world
  const leaving = Promise.withResolvers<null>()
  let pressed = 0
  const stopListening = keyboard?.onInterrupt(() => {
    pressed++
    if (pressed === 1) {
      world.err.write('^C')
      run.abort(new DOMException('interrupted', 'AbortError'))
    } else leaving.resolve(null)
  })
  try {
    const printing = printAnswer(run, world, {
      model: talker.model.id,
      sink: out.isTerminal ? markdownSink(out) : stdoutSink(world),
      more: ' /context',
      // At once, not at the end: a turn that fails has been said all the same.
      observe: event => {
        if (event.type === 'started') talker.follow(event.branch)
      },
    })
    printing.catch(() => undefined)
    return { answered: await Promise.race([printing, leaving.promise]), left: pressed > 1 }
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
