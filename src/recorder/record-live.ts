import { InvalidError } from '../core/errors.ts'
import type { NewEvent } from '../core/event.ts'
import type { MessageId } from '../core/ids.ts'
import { isNonEmpty, type NewMessage, type NonEmpty } from '../core/message.ts'
import { prepareMessages } from '../core/prepare.ts'
import type { TurnEnd, Usage } from '../core/turn.ts'
import { type AnswerDraft, createAnswerDraft } from './answer-draft.ts'
import type { RecorderLimits } from './limits.ts'
import type { TurnPosition, TurnRequest } from './open-turn.ts'
import { type OutageReporter, outageReporter } from './outages.ts'
import { isCallerError, messageCharacters, withTime } from './queued-messages.ts'
import type { PathPosition, RecordedStep, TurnRecording, TurnReport } from './recording.ts'
import { turnReport } from './turn-report.ts'
import { turnView } from './turn-view.ts'
import { createTurnWrites, type StepFacts } from './turn-writes.ts'
import { createWriteQueue } from './write-queue.ts'

/** Records a turn while it runs: stores each step as it ends, and an answer while it arrives. */
export async function recordLive(request: TurnRequest, limits: RecorderLimits): Promise<TurnRecording> {
  const { store, options, source, after } = request
  const { conversationId } = request.ref
  const { onTrouble: tell, onRecovered: traceOutage }: OutageReporter = outageReporter(request)
  /** The position after the last write that is known to be stored. */
  let stored: TurnPosition | null = null
  const queue = createWriteQueue({
    limits,
    source,
    onTrouble: tell,
    onRecovered: traceOutage,
    onStored: () => {
      stored = writes.position
    },
    ...(after && { after }),
  })
  const writes = createTurnWrites(request, error =>
    tell({ kind: 'taken_over', error, waiting: queue.waiting }),
  )
  let draft = createAnswerDraft()
  /** The draft with a write in progress, or that cannot be written. */
  let flushing: AnswerDraft | null = null
  let cancelFlush: (() => void) | null = null
  let cancelRenewal: (() => void) | null = null
  let lastWrite = source.now()
  const renewEveryMs = Math.min(limits.renewEveryMs, store.leaseMs / 3)
  let ended: Promise<TurnReport> | null = null

  await begin(options.words)
  renewAfter(renewEveryMs)
  return turnView(request, writes, {
    position,
    draft(piece) {
      if (ended) return
      draft.add(piece)
      cancelFlush ??= source.after(limits.draftEveryMs, flush, { idle: true })
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
      : { head: (await store.getBranch(request.ref)).head, unsaved: [] }
    // Stored meanwhile: the path that was just read may contain the messages.
    if (stored) return position()
    return { head: before.head, unsaved: [...before.unsaved, ...queue.unsaved] }
  }

  async function begin(words: readonly NewMessage[]): Promise<void> {
    const at = source.now()
    // After the caller stops waiting, fork instead of refusing.
    let isAnswered = false
    const stored = await queue.push(
      {
        kind: 'said',
        messages: words,
        characters: messageCharacters(words),
        refuses: isCallerError,
        async run(late) {
          const policy = isAnswered ? ({ onBusy: 'fork', onMoved: 'fork' } as const) : options
          if (!isNonEmpty(words)) await writes.reopen(policy, late)
          else await writes.open(late ? withTime(words, at) : words, policy, late)
          lastWrite = source.now()
        },
      },
      true,
    )
    isAnswered = true
    if (!stored && words.length > 0)
      tell({ kind: 'unsaved', error: queue.outage?.error, waiting: queue.waiting })
  }

  async function add(...[messages, given = {}]: Parameters<TurnRecording['add']>): Promise<RecordedStep> {
    const { ends, ...facts } = given
    mustBeOpen()
    // A queued write cannot refuse invalid messages later, so check them now. Otherwise the store checks them
    // at once.
    if (queue.waiting > 0 || queue.outage) prepareMessages(messages)
    const at = source.now()
    const superseded = draft
    draft = createAnswerDraft()
    let ids: NonEmpty<MessageId> | null = null
    let size: number | undefined
    try {
      await queue.push({
        kind: 'said',
        messages,
        get characters() {
          size ??= messageCharacters(messages)
          return size
        },
        refuses: error => error instanceof InvalidError,
        async run(late) {
          // If messages were lost, the turn is not complete: `end` stores its status then.
          const step: StepFacts = ends && queue.lost === 0 ? { ...facts, status: ends } : facts
          ids = await writes.append(late ? withTime(messages, at) : messages, step)
          lastWrite = source.now()
        },
      })
    } catch (error) {
      // The refused messages do not replace the draft.
      if (!draft.isWaiting) draft = superseded
      throw error
    }
    return { ids }
  }

  async function trace(events: readonly NewEvent[]): Promise<void> {
    mustBeOpen()
    const at = source.now()
    await queue.push({
      kind: 'trace',
      messages: [],
      characters: JSON.stringify(events).length,
      refuses: error => error instanceof InvalidError,
      run: late => store.addEvents(conversationId, late ? withTime(events, at) : events),
    })
  }

  /** Stores the pieces of the answer that have arrived. One write at a time: later pieces go with the next
   *  one. */
  function flush(): void {
    cancelFlush = null
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
        // The whole answer may have arrived meanwhile.
        if (flushed !== draft || !(await writes.putDraft(flushed))) return
        lastWrite = source.now()
        if (flushing === flushed) flushing = null
        if (flushed === draft && flushed.isWaiting && !ended)
          cancelFlush ??= source.after(limits.draftEveryMs, flush, { idle: true })
      },
      drop: () => flushed.drop(),
    })
  }

  /** Renews the lease of a turn without writes, for instance while a tool runs. */
  function renewAfter(ms: number): void {
    cancelRenewal = source.after(ms, () => void renew(), { idle: true })
  }

  async function renew(): Promise<void> {
    const silent = source.now() - lastWrite
    if (silent >= 0 && silent < renewEveryMs) return renewAfter(renewEveryMs - silent)
    renewAfter(renewEveryMs)
    // Queued writes will renew the lease once they are stored.
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
    cancelFlush?.()
    cancelRenewal?.()
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
        // The stored turn is incomplete if messages were dropped.
        const asked = queue.lost > 0 && status === 'complete' ? 'interrupted' : status
        storedStatus = await writes.end(asked, usage, last)
      },
    })
    await queue.finish(limits.endWithinMs)
    return turnReport(request, queue, writes, position, () => storedStatus)
  }

  function mustBeOpen(): void {
    if (ended) throw new InvalidError('turn', 'has ended')
  }
}
