import { InvalidError } from '../core/errors.ts'
import type { NewEvent } from '../core/event.ts'
import type { MessageId } from '../core/ids.ts'
import { isNonEmpty, type NewMessage, type NonEmpty } from '../core/message.ts'
import { prepareMessages } from '../core/prepare.ts'
import type { TurnEnd, Usage } from '../core/turn.ts'
import { type AnswerDraft, answerDraft } from './answer-draft.ts'
import type { RecorderLimits } from './limits.ts'
import type { Opening, Standing } from './opening.ts'
import { type Outages, outages } from './outages.ts'
import { writeQueue } from './queue.ts'
import type { PathPosition, Recorded, TurnRecording, TurnReport } from './recording.ts'
import { reportOf } from './report.ts'
import { charactersOf, dated, isForTheCaller } from './said.ts'
import { shown } from './shown.ts'
import { type StepFacts, turnWrites } from './turn-writes.ts'

/** Records a turn as it happens: each step is stored as it ends, an answer while it arrives. */
export async function recordLive(opening: Opening, limits: RecorderLimits): Promise<TurnRecording> {
  const { store, options, source, after } = opening
  const { conversationId } = opening.ref
  const { tell, trace: traceOutage }: Outages = outages(opening)
  /** Where the turn is after the last write that is known to be stored. */
  let stored: Standing | null = null
  const queue = writeQueue({
    limits,
    source,
    tell,
    recovered: traceOutage,
    onStored: () => {
      stored = writes.standing
    },
    ...(after && { after }),
  })
  const writes = turnWrites(opening, error => tell({ kind: 'taken_over', error, waiting: queue.waiting }))
  let draft = answerDraft()
  /** The draft that has a write on its way, or that cannot have any. */
  let flushing: AnswerDraft | null = null
  let callOffFlush: (() => void) | null = null
  let callOffRenewal: (() => void) | null = null
  let lastWrite = source.now()
  let ended: Promise<TurnReport> | null = null

  await begin(options.words)
  renewAfter(limits.renewEveryMs)
  return shown(opening, writes, {
    position,
    draft(piece) {
      if (ended) return
      draft.add(piece)
      callOffFlush ??= source.after(limits.draftEveryMs, flush, { idle: true })
    },
    add,
    trace,
    end: (status, facts = {}) => {
      ended ??= end(status, facts.usage)
      return ended
    },
  })

  async function position(): Promise<PathPosition> {
    if (stored) return { head: stored.head, unsaved: queue.unsaved }
    const before = after
      ? await after.position()
      : { head: (await store.getBranch(opening.ref)).head, unsaved: [] }
    // Stored meanwhile: then the words may be on the path that was just read.
    if (stored) return position()
    return { head: before.head, unsaved: [...before.unsaved, ...queue.unsaved] }
  }

  async function begin(words: readonly NewMessage[]): Promise<void> {
    const at = source.now()
    // Once nobody waits to be asked, the words go where they can.
    let asked = false
    const stored = await queue.push(
      {
        kind: 'said',
        messages: words,
        characters: charactersOf(words),
        refuses: isForTheCaller,
        async run(late) {
          const manners = asked ? ({ onBusy: 'fork', onMoved: 'fork' } as const) : options
          if (!isNonEmpty(words)) await writes.reopen(manners, late)
          else await writes.open(late ? dated(words, at) : words, manners, late)
          lastWrite = source.now()
        },
      },
      true,
    )
    asked = true
    if (!stored && words.length > 0)
      tell({ kind: 'unsaved', error: queue.outage?.error, waiting: queue.waiting })
  }

  async function add(...[messages, given = {}]: Parameters<TurnRecording['add']>): Promise<Recorded> {
    const { ends, ...facts } = given
    mustBeOpen()
    // If it has to wait, there is nobody to refuse anything to later. Otherwise the store looks at it at
    // once.
    if (queue.waiting > 0 || queue.outage) prepareMessages(messages)
    const at = source.now()
    const superseded = draft
    draft = answerDraft()
    let ids: NonEmpty<MessageId> | null = null
    let size: number | undefined
    try {
      await queue.push({
        kind: 'said',
        messages,
        get characters() {
          size ??= charactersOf(messages)
          return size
        },
        refuses: error => error instanceof InvalidError,
        async run(late) {
          // What was lost before makes it another end: `end` sees to that.
          const step: StepFacts = ends && queue.lost === 0 ? { ...facts, status: ends } : facts
          ids = await writes.append(late ? dated(messages, at) : messages, step)
          lastWrite = source.now()
        },
      })
    } catch (error) {
      // It supersedes nothing then.
      if (!draft.waits) draft = superseded
      throw error
    }
    return { ids }
  }

  async function trace(events: NonEmpty<NewEvent>): Promise<void> {
    mustBeOpen()
    const at = source.now()
    await queue.push({
      kind: 'trace',
      messages: [],
      characters: JSON.stringify(events).length,
      refuses: error => error instanceof InvalidError,
      run: late => store.addEvents(conversationId, late ? dated(events, at) : events),
    })
  }

  /** Stores what has arrived of the answer. Never two of them at once: what comes meanwhile goes with the
   *  next. */
  function flush(): void {
    callOffFlush = null
    if (ended || flushing === draft) return
    const flushed = draft
    flushing = flushed
    void queue.push({
      kind: 'draft',
      messages: [],
      get characters() {
        return flushed === draft ? flushed.characters : 0
      },
      async run() {
        // The answer may have come whole meanwhile.
        if (flushed !== draft || !(await writes.putDraft(flushed))) return
        lastWrite = source.now()
        if (flushing === flushed) flushing = null
        if (flushed === draft && flushed.waits && !ended)
          callOffFlush ??= source.after(limits.draftEveryMs, flush, { idle: true })
      },
      drop: () => flushed.drop(),
    })
  }

  /** A turn that goes on without a write, while a tool runs for instance, has to be kept. */
  function renewAfter(ms: number): void {
    callOffRenewal = source.after(ms, () => void renew(), { idle: true })
  }

  async function renew(): Promise<void> {
    const silent = source.now() - lastWrite
    if (silent >= 0 && silent < limits.renewEveryMs) return renewAfter(limits.renewEveryMs - silent)
    renewAfter(limits.renewEveryMs)
    // While writes wait, they are what shows that we live, once they get through.
    if (queue.waiting > 0) return
    await queue.push({
      kind: 'draft',
      messages: [],
      characters: 0,
      async run() {
        if (!ended && (await writes.renew())) lastWrite = source.now()
      },
    })
  }

  async function end(status: TurnEnd['status'], usage: Usage | undefined): Promise<TurnReport> {
    callOffFlush?.()
    callOffRenewal?.()
    const last = draft
    let storedStatus = status
    void queue.push({
      kind: 'end',
      get messages() {
        const message = last.message(status)
        return message ? [message] : []
      },
      characters: 0,
      async run() {
        // The stored turn is not whole if messages were dropped.
        const asked = queue.lost > 0 && status === 'complete' ? 'interrupted' : status
        storedStatus = await writes.end(asked, usage, last)
      },
    })
    await queue.finish(limits.endWithinMs)
    return reportOf(opening, queue, writes, position, () => storedStatus)
  }

  function mustBeOpen(): void {
    if (ended) throw new InvalidError('turn', 'has ended')
  }
}
