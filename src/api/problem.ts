import type { JsonOf, problemSchema } from './schema/index.ts'

/** An error of the HTTP service as JSON: problem details (RFC 9457). */
export type ProblemJson = JsonOf<typeof problemSchema>
