import type { JsonOf, turnEventSchema } from './schema/index.ts'

/** An event of a turn, as `POST …/turns` streams it. A newer service may send other types: ignore them. */
export type TurnEventJson = JsonOf<typeof turnEventSchema>
