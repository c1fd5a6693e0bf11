import type { Turn } from '../core/turn.ts'
import { isDead } from './holder.ts'

/** Whether an open turn is being answered: its lease has not expired, and its process is not surely dead. */
export function isTurnLive(
  { leaseUntil, holder }: Pick<Turn, 'leaseUntil' | 'holder'>,
  now: number,
): boolean {
  if (leaseUntil !== null && leaseUntil.getTime() <= now) return false
  return holder === null || !isDead(holder)
}
