import type { DraftPiece, Turn } from '../core/turn.ts'
import type { IsLive } from './path-facts.ts'
import type { draftPieceSchema, JsonOf, turnSchema } from './schema/index.ts'
import { usageJson } from './usage.ts'

/** A turn as JSON. */
export type TurnJson = JsonOf<typeof turnSchema>

/** A piece of an unfinished answer as JSON. */
export type DraftPieceJson = JsonOf<typeof draftPieceSchema>

/** Maps a turn to JSON. */
export function turnJson(turn: Turn, isLive: IsLive): TurnJson {
  return {
    key: turn.key,
    branch: turn.branch,
    status: turn.status,
    live: turn.status === 'open' && isLive(turn),
    first: turn.first,
    last: turn.last,
    last_step: turn.lastStep,
    model: turn.model,
    prompt_hash: turn.promptHash,
    usage: usageJson(turn.usage),
    lease_until: turn.leaseUntil?.toISOString() ?? null,
    started_at: turn.startedAt.toISOString(),
    ended_at: turn.endedAt?.toISOString() ?? null,
  }
}

/** Maps a piece of an unfinished answer to JSON. */
export function draftPieceJson({ n, type, text }: DraftPiece): DraftPieceJson {
  return { n, type, text }
}
