import type { NewEvent } from '../../core/event.ts'
import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { NewMessage } from '../../core/message.ts'
import type { Usage } from '../../core/turn.ts'
import type { Trouble, TurnRecording, TurnReport } from '../../recorder/recording.ts'
import { type RecorderSource, systemRecorderSource } from '../../system/source.ts'
import { createFold, type FoldEffect } from './fold.ts'
import type { CallChange, Heard } from './heard.ts'

/** How long an announced call waits for others of the same message. */
export const settleMs = 200

/** How a turn ended, as the caller knows it. */
export interface AgentTurnEnd {
  readonly status: 'complete' | 'interrupted' | 'failed'
  /** The agent's stop reason; null if it did not send one. */
  readonly stop: string | null
  readonly usage?: Usage
}

/** Records the updates of one turn. */
export interface TurnRecorder {
  /** Returns at once and never throws: the wire must not wait for the disk. */
  hear(heard: Heard): void
  /** A permission is requested: stores the announced calls first, with the details of the request. */
  settle(call?: CallChange | null): void
  /** Adds to the trace. */
  trace(event: NewEvent): void
  /** Stores the rest and ends the turn. Resolves when everything is stored, or known not to be. */
  end(ending: AgentTurnEnd): Promise<TurnReport>
}

export interface RecordTurnOptions {
  readonly source?: RecorderSource
  /** Called with each effect, in order, when it is handed over to be stored. */
  onEffect?(effect: FoldEffect): void
  /** Called for messages that cannot be stored at all, which the report contains as unsaved, and for errors
   *  of ours. */
  onTrouble?(trouble: Trouble): void
}

/** Records a turn: text as drafts while it arrives, messages when they are complete, tool starts and ends as
 *  traces. */
export function recordTurn(recording: TurnRecording, options: RecordTurnOptions = {}): TurnRecorder {
  const { source = systemRecorderSource, onEffect, onTrouble } = options
  const fold = createFold()
  const refused: NewMessage[] = []
  /** Pending writes, and the message of each call. */
  const writes = new Set<Promise<unknown>>()
  const places = new Map<string, Promise<MessageId | null>>()
  let callOffSettling: (() => void) | null = null
  let ended: Promise<TurnReport> | null = null

  function apply(effects: readonly FoldEffect[]): void {
    const writesMessage = effects.some(({ type }) => type === 'message')
    for (const effect of effects) {
      if (effect.type === 'message') addMessage(effect.message)
      else if (effect.type === 'trace') addTrace(effect.event)
      else if (effect.type === 'draft') {
        if (!writesMessage) recording.draft(effect.piece)
      } else addCallTrace(effect)
      onEffect?.(effect)
    }
    // A message replaces the draft, also text that is not part of the message.
    if (writesMessage) for (const piece of fold.drafted) recording.draft(piece)
    settleLater()
  }

  function addMessage(message: NewMessage, ends?: Pick<AgentTurnEnd, 'usage'>): void {
    const facts = ends ? { ends: 'complete' as const, ...ends } : {}
    const added = recording.add([message], facts).then(
      ({ ids }) => ids?.[0] ?? null,
      (error: unknown) => {
        refused.push(message)
        onTrouble?.({ kind: 'lost', error, waiting: 0 })
        return null
      },
    )
    onTheWay(added)
    for (const block of typeof message.content === 'string' ? [] : message.content)
      if (block.type === 'tool_call') places.set(String(block.callId), added)
  }

  function addTrace(event: NewEvent): void {
    onTheWay(recording.trace([{ createdAt: new Date(source.now()), ...event }]))
  }

  /** The trace contains the id of the call's message, as with our own agent, so that a later resumption sees
   *  that the call was made. The message has no id before it is stored. */
  function addCallTrace(effect: Extract<FoldEffect, { type: 'started' | 'ended' }>): void {
    const { callId: call, name } = effect
    const at = new Date(source.now())
    const traced = async () => {
      const message = (await places.get(call)) ?? null
      const data: JsonObject = { call, name, turn: recording.key, message }
      await recording.trace([
        effect.type === 'started'
          ? { type: 'tool_started', createdAt: at, data }
          : { type: 'tool_ended', createdAt: at, data: { ...data, isError: effect.isError } },
      ])
    }
    onTheWay(traced())
  }

  /** Nothing is rebuilt from traces: one that cannot be stored is dropped. */
  function onTheWay(write: Promise<unknown>): void {
    const told = write.catch(() => undefined)
    writes.add(told)
    void told.finally(() => writes.delete(told))
  }

  /** Applies effects. An error of ours costs one update, and not the wire. */
  function guarded(effects: () => readonly FoldEffect[]): void {
    try {
      apply(effects())
    } catch (error) {
      onTrouble?.({ kind: 'lost', error, waiting: 0 })
    }
  }

  function settleLater(): void {
    if (!fold.waits || ended) {
      callOffSettling?.()
      callOffSettling = null
    } else
      callOffSettling ??= source.after(
        settleMs,
        () => {
          callOffSettling = null
          guarded(() => fold.settle())
        },
        { idle: true },
      )
  }

  async function end({ status, stop, usage }: AgentTurnEnd): Promise<TurnReport> {
    callOffSettling?.()
    const effects = fold.end()
    const last = effects.findLastIndex(({ type }) => type === 'message')
    const spent = usage ? { usage } : {}
    let endsWithIt = false
    for (const [i, effect] of effects.entries()) {
      if (effect.type !== 'message') {
        apply([effect])
        continue
      }
      const { message } = effect
      endsWithIt = i === last && status === 'complete'
      const cutOff = i === last && status !== 'complete' && message.role === 'assistant'
      addMessage(
        cutOff ? { ...message, metadata: { [status]: true } } : message,
        endsWithIt ? spent : undefined,
      )
      onEffect?.(effect)
    }
    addTrace({ type: 'turn_ended', data: { stop } })
    // Traces of calls are written only after their message has an id.
    while (writes.size > 0) await Promise.all(writes)
    const report = await recording.end(status, endsWithIt ? {} : spent)
    if (refused.length === 0) return report
    return { ...report, saved: false, unsaved: [...refused, ...report.unsaved] }
  }

  return {
    hear(heard) {
      if (!ended) guarded(() => fold.hear(heard))
    },
    settle(call = null) {
      if (ended) return
      guarded(() => {
        if (call) fold.detail(call)
        return fold.settle()
      })
    },
    trace(event) {
      if (!ended) addTrace(event)
    },
    end(ending) {
      ended ??= end(ending)
      return ended
    },
  }
}
