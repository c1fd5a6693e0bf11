import { InvalidError } from '../core/errors.ts'
import type { NewEvent } from '../core/event.ts'
import type { NewMessage, NonEmpty } from '../core/message.ts'
import { prepareMessages } from '../core/prepare.ts'
import type { TurnEnd, Usage } from '../core/turn.ts'
import { answerDraft } from './answer-draft.ts'
import type { RecorderLimits } from './limits.ts'
import type { Opening } from './opening.ts'
import { outages } from './outages.ts'
import { writeQueue } from './queue.ts'
import type { PathPosition, Recorded, TurnRecording, TurnReport } from './recording.ts'
import { reportOf } from './report.ts'
import { dated, isForTheCaller } from './said.ts'
import { shown } from './shown.ts'
import { turnWrites } from './turn-writes.ts'

/** Records a turn in memory and stores it whole at its end, in one transaction. Until then nothing is
 *  written: a crash leaves no half of it, and no word either. */
export async function recordAtOnce(opening: Opening, limits: RecorderLimits): Promise<TurnRecording> {
  const { store, options, source, after } = opening
  const { conversationId } = opening.ref
  const { tell, trace } = outages(opening)
  /** True once the whole turn is known to be stored. */
  let isStored = false
  const queue = writeQueue({
    limits,
    source,
    tell,
    recovered: trace,
    onStored: () => {
      isStored = writes.standing !== null && writes.standing.step > 0
    },
    ...(after && { after }),
  })
  const writes = turnWrites(opening, error => tell({ kind: 'taken_over', error, waiting: queue.waiting }))
  const said: NewMessage[] = []
  const events: NewEvent[] = []
  let draft = answerDraft()
  let used: Usage = {}
  let model = options.model
  let ended: Promise<TurnReport> | null = null

  await findPlace()
  say(options.words)
  return shown(opening, writes, {
    position,
    draft(piece) {
      if (!ended) draft.add(piece)
    },
    async add(messages, facts = {}): Promise<Recorded> {
      mustBeOpen()
      prepareMessages(messages)
      say(messages)
      used = sum(used, facts.usage)
      model = facts.model ?? model
      draft = answerDraft()
      return { ids: null }
    },
    async trace(added) {
      mustBeOpen()
      events.push(...dated(added, source.now()))
    },
    end: (status, facts = {}) => {
      ended ??= end(status, sum(used, facts.usage))
      return ended
    },
  })

  async function position(): Promise<PathPosition> {
    const { standing } = writes
    if (isStored) return { head: standing!.head, unsaved: [] }
    const before = standing
      ? { head: standing.head, unsaved: [] }
      : after
        ? await after.position()
        : { head: (await store.getBranch(opening.ref)).head, unsaved: [] }
    return { head: before.head, unsaved: [...before.unsaved, ...said] }
  }

  /** The branch is what it was when the turn began, though nothing is stored before its end. */
  async function findPlace(): Promise<void> {
    await queue.push(
      {
        kind: 'end',
        messages: [],
        characters: 0,
        refuses: isForTheCaller,
        run: () => writes.findPlace(options),
      },
      true,
    )
  }

  function say(messages: readonly NewMessage[]): void {
    if (messages.length > 0) said.push(...dated(messages as NonEmpty<NewMessage>, source.now()))
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
    return reportOf(opening, queue, writes, position, () => status)
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
