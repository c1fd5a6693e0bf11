import type { NewEvent } from '../../core/event.ts'
import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { NewMessage } from '../../core/message.ts'
import type { Usage } from '../../core/turn.ts'
import type { Trouble, TurnRecording, TurnReport } from '../../recorder/recording.ts'
import { type RecorderSource, systemRecorderSource } from '../../system/source.ts'
import { createFold, type FoldEffect } from './fold.ts'
import type { Heard } from './heard.ts'

/** How long an announced call waits for others that belong into the same message. */
export const settleMs = 200

/** How a turn ended, as whoever prompted the agent knows. */
export interface AgentTurnEnd {
  readonly status: 'complete' | 'interrupted' | 'failed'
  /** The agent's own word for it; null if it did not come to say one. */
  readonly stop: string | null
  readonly usage?: Usage
}

/** Keeps what is heard of an agent in one turn. */
export interface TurnRecorder {
  /** Returns at once and never throws: the wire must not wait for the disk. */
  hear(heard: Heard): void
  /** A permission is asked for: the calls that were announced are stored before anybody decides. */
  settle(): void
  /** Adds to the trace. */
  trace(event: NewEvent): void
  /** Stores what is left and ends the turn. Resolves when it is on the disk, or known not to be. */
  end(ending: AgentTurnEnd): Promise<TurnReport>
}

export interface RecordTurnOptions {
  readonly source?: RecorderSource
  /** Told of each effect, in order, as it is handed over to be stored. */
  onEffect?(effect: FoldEffect): void
  /** Told of words that cannot be stored at all; they stand in the report as unsaved. */
  onTrouble?(trouble: Trouble): void
}

/** Records a turn heard over the wire: words as drafts while they arrive, messages when they are whole,
 *  starts and ends of tools as traces. */
export function recordTurn(recording: TurnRecording, options: RecordTurnOptions = {}): TurnRecorder {
  const { source = systemRecorderSource, onEffect, onTrouble } = options
  const fold = createFold()
  const refused: NewMessage[] = []
  /** Writes on their way, and the message that each call stands in. */
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
    // A message takes the place of the draft, also of words that are not in it.
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
    for (const block of typeof message.blocks === 'string' ? [] : message.blocks)
      if (block.type === 'tool_call') places.set(String(block.callId), added)
  }

  function addTrace(event: NewEvent): void {
    onTheWay(recording.trace([{ at: new Date(source.now()), ...event }]))
  }

  /** The trace names the message of the call, as our own agent's does: whoever goes on with the turn must see
   *  that the call was made. The message has no name before it is stored. */
  function addCallTrace(effect: Extract<FoldEffect, { type: 'started' | 'ended' }>): void {
    const { callId: call, name } = effect
    const at = new Date(source.now())
    const traced = async () => {
      const message = (await places.get(call)) ?? null
      const data: JsonObject = { call, name, turn: recording.key, message }
      await recording.trace([
        effect.type === 'started'
          ? { type: 'tool_started', at, data }
          : { type: 'tool_ended', at, data: { ...data, isError: effect.isError } },
      ])
    }
    onTheWay(traced())
  }

  /** Of a trace nothing is rebuilt: one that cannot be stored is told of and left out. */
  function onTheWay(write: Promise<unknown>): void {
    const told = write.catch((error: unknown) => onTrouble?.({ kind: 'lost', error, waiting: 0 }))
    writes.add(told)
    void told.finally(() => writes.delete(told))
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
          apply(fold.settle())
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
      addMessage(cutOff ? { ...message, meta: { [status]: true } } : message, endsWithIt ? spent : undefined)
      onEffect?.(effect)
    }
    addTrace({ type: 'turn_ended', data: { stop } })
    // Traces of calls are only handed over when their message has a name.
    while (writes.size > 0) await Promise.all(writes)
    const report = await recording.end(status, endsWithIt ? {} : spent)
    if (refused.length === 0) return report
    return { ...report, saved: false, unsaved: [...refused, ...report.unsaved] }
  }

  return {
    hear(heard) {
      if (!ended) apply(fold.hear(heard))
    },
    settle() {
      if (!ended) apply(fold.settle())
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
