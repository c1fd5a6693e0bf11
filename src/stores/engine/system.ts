import { randomUUID } from 'node:crypto'
import type { Source } from '../../core/source.ts'

/** The machine's own clock and randomness. */
export const systemSource: Source = { now: () => Date.now(), uuid: () => randomUUID() }
