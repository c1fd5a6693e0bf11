import { InvalidError } from '../core/errors.ts'
import type { NewEvent } from '../core/event.ts'
import type { NewMessage } from '../core/message.ts'
import { prepareMessages } from '../core/prepare.ts'
import type { TurnEnd, Usage } from '../core/turn.ts'
import { createAnswerDraft } from './answer-draft.ts'
import type { RecorderLimits } from './limits.ts'
import type { TurnRequest } from './open-turn.ts'
import { outageReporter } from './outages.ts'
import { isCallerError, withTime } from './queued-messages.ts'
import type { PathPosition, RecordedStep, TurnRecording, TurnReport } from './recording.ts'
import { turnReport } from './turn-report.ts'
import { turnView } from './turn-view.ts'
import { createTurnWrites } from './turn-writes.ts'
import { createWriteQueue } from './write-queue.ts'

/** Records a turn in memory and stores it at its end, in one transaction. Until then nothing is written, so a
 *  crash leaves nothing of the turn. */
export async function recordAtOnce(request: TurnRequest, limits: RecorderLimits): Promise<TurnRecording> {
  const { store, options, source, after } = request
  const { conversationId } = request.ref
  const { onTrouble: tell, onRecovered: trace } = outageReporter(request)
  /** True once the whole turn is known to be stored. */
  let isStored = false
  const queue = createWriteQueue({
    limits,
    source,
    onTrouble: tell,
    onRecovered: trace,
    onStored: () => {
      isStored = writes.position !== null && writes.position.step > 0
    },
    ...(after && { after }),
  })
  const writes = createTurnWrites(request, error =>
    tell({ kind: 'taken_over', error, waiting: queue.waiting }),
  )
  const said: NewMessage[] = []
  const events: NewEvent[] = []
  let draft = createAnswerDraft()
  let used: Usage = {}
  let model = options.model
  let ended: Promise<TurnReport> | null = null

  await findPosition()
  say(options.words)
  return turnView(request, writes, {
    position,
    draft(piece) {
      if (!ended) draft.add(piece)
    },
    async add(messages, facts = {}): Promise<RecordedStep> {
      mustBeOpen()
      prepareMessages(messages)
      say(messages)
      used = sum(used, facts.usage)
      model = facts.model ?? model
      draft = createAnswerDraft()
      return { ids: null }
    },
    async trace(added) {
      mustBeOpen()
      events.push(...withTime(added, source.now()))
    },
    end: (status, facts = {}) => {
      ended ??= end(status, sum(used, facts.usage))
      return ended
    },
  })

  async function position(): Promise<PathPosition> {
    const current = writes.position
    if (isStored) return { head: current!.head, unsaved: [] }
    const before = current
      ? { head: current.head, unsaved: [] }
      : after
        ? await after.position()
        : { head: (await store.getBranch(request.ref)).head, unsaved: [] }
    return { head: before.head, unsaved: [...before.unsaved, ...said] }
  }

  /** Fixes the branch and head at the beginning of the turn, although nothing is stored before its end. */
  async function findPosition(): Promise<void> {
    await queue.push(
      {
        kind: 'end',
        messages: [],
        characters: 0,
        refuses: isCallerError,
        run: () => writes.findPosition(options),
      },
      true,
    )
  }

  function say(messages: readonly NewMessage[]): void {
    if (messages.length > 0) said.push(...withTime(messages, source.now()))
  }

  async function end(status: TurnEnd['status'], usage: Usage): Promise<TurnReport> {
    const message = draft.message(status)
    if (message) say([message])
    const [first, ...rest] = said
    if (first) {
      void queue.push({
        kind: 'end',
        messages: said,
        characters: 0,
        async run() {
          await writes.append([first, ...rest], { status, usage, ...(model !== undefined && { model }) })
        },
      })
    }
    const [event, ...others] = events
    if (event) {
      void queue.push({
        kind: 'trace',
        messages: [],
        characters: 0,
        run: () => store.addEvents(conversationId, [event, ...others]),
      })
    }
    await queue.finish(limits.endWithinMs)
    return turnReport(request, queue, writes, position, () => status)
  }

  function mustBeOpen(): void {
    if (ended) throw new InvalidError('turn', 'has ended')
  }
}

function sum(a: Usage, b: Usage = {}): Usage {
  const total: { -readonly [K in keyof Usage]: number } = { ...a } as never
  for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning', 'cost'] as const) {
    if (b[kind] !== undefined) total[kind] = (a[kind] ?? 0) + b[kind]
  }
  return total
}
