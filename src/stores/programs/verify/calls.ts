import type { TurnRow } from '../../engine/rows.ts'
import type { RawMessageRow } from '../../engine/statements-verify.ts'
import type { FindingList } from './findings.ts'

interface Waiting {
  readonly callId: string
  readonly name: string
  readonly message: string
  readonly seq: number
  readonly run: number
}

/** Most open calls to track. */
const mostWaiting = 10_000

/** Checks that each tool call has a result. Calls of an incomplete turn may lack one. */
export interface CallWalk {
  at(row: RawMessageRow, turn: TurnRow | null): void
  end(): void
}

export function walkCalls(findings: FindingList): CallWalk {
  const waiting = new Map<string, Waiting[]>()
  let count = 0
  return { at, end }

  function at(row: RawMessageRow, turn: TurnRow | null): void {
    if (!row.body?.includes('"tool_')) return
    for (const block of blocksOf(row.body)) {
      if (typeof block.callId !== 'string') continue
      if (block.type === 'tool_result') answered(block.callId, row)
      if (block.type === 'tool_call' && mustBeAnswered(turn) && count < mostWaiting) {
        const call = {
          callId: block.callId,
          name: String(block.name),
          message: row.id,
          seq: row.seq,
          run: row.run,
        }
        waiting.set(call.callId, [...(waiting.get(call.callId) ?? []), call])
        count++
      }
    }
  }

  /** Call ids recur. The result belongs to the nearest preceding call, in the same run if there is one. */
  function answered(callId: string, row: RawMessageRow): void {
    const calls = waiting.get(callId)
    if (!calls) return
    const meant = calls.findLastIndex(({ run }) => run === row.run)
    calls.splice(meant < 0 ? calls.length - 1 : meant, 1)
    count--
    if (calls.length === 0) waiting.delete(callId)
  }

  function end(): void {
    for (const { callId, name, message, seq } of [...waiting.values()].flat()) {
      const what = `its call of ${JSON.stringify(name)} (${JSON.stringify(callId)}) has no result`
      findings.add('note', what, { message, seq })
    }
  }
}

function mustBeAnswered(turn: TurnRow | null): boolean {
  return turn === null || turn.status === 'complete'
}

interface ToolBlock {
  readonly type?: unknown
  readonly callId?: unknown
  readonly name?: unknown
}

function blocksOf(body: string): readonly ToolBlock[] {
  try {
    const { blocks } = JSON.parse(body) as { blocks: unknown }
    return Array.isArray(blocks)
      ? (blocks as ToolBlock[]).filter(block => typeof block === 'object' && block)
      : []
  } catch {
    // The hash check reports it.
    return []
  }
}
