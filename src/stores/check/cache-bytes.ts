import { InvalidError } from '../../core/errors.ts'

/** Below 25 pages, a single query would read its pages again. */
const [fewest, most] = [102_400, 1_073_741_824]

/** The size of the cache of a file. Undefined if the driver's own is meant. */
export function checkCacheBytes(bytes: number | undefined): number | undefined {
  if (bytes === undefined || (Number.isSafeInteger(bytes) && bytes >= fewest && bytes <= most)) return bytes
  throw new InvalidError('cacheBytes', `must be a whole number from ${fewest} to ${most}`)
}
