import { InvalidError } from '../../core/errors.ts'
import { leaseLimits, leaseMs as usual } from '../../core/turn.ts'

/** The length of a lease in milliseconds, or the usual one. */
export function checkLease(ms: number = usual): number {
  const { shortest, longest } = leaseLimits
  if (Number.isSafeInteger(ms) && ms >= shortest && ms <= longest) return ms
  throw new InvalidError('leaseMs', `must be a whole number from ${shortest} to ${longest}`)
}
