import { setFlagsFromString } from 'node:v8'

/** Lets V8 collect garbage early instead of letting the heap grow, for the rest of the process. Otherwise a
 *  process that allocates much for a moment, such as the load of a long conversation, keeps a young
 *  generation of 134 MB. */
export function preferSmallHeap(): void {
  setFlagsFromString('--optimize-for-size')
}

/** Keeps V8 from optimizing code, for the rest of the process. The optimizing compiler and its code take 10
 *  to 15 MB, which a command that runs short statements for some seconds need not spend. */
export function avoidOptimizedCode(): void {
  setFlagsFromString('--no-opt')
}
