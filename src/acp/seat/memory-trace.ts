import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { ToTell } from '../memory/what-to-tell.ts'
import type { Seated } from './take-seat.ts'

/** How an agent came to know a conversation, as it is kept: `toldInSystem` reads it. */
export function memoryTrace(
  agent: string,
  seated: Seated,
  { report, text }: ToTell,
  upTo: MessageId | null,
): JsonObject {
  const { sessionId, way, inSystem } = seated
  const through = way === 'new' && inSystem !== null ? 'system' : text === null ? null : 'text'
  const failed = report.failed.map(tier => ({ ...tier }))
  return { agent, session: sessionId, ...report, failed, through, upTo }
}
