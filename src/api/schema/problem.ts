import { z } from 'zod'

/** An error of the HTTP service: problem details (RFC 9457). */
export const problemSchema = z
  .looseObject({
    type: z.string().describe('a URI that names the kind of problem'),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().describe('not_found, conflict, … or the name of the HTTP error'),
    request_id: z.string(),
    hint: z.string().nullable().describe('what to do'),
    success: z.literal(false),
    message: z.string().describe('the same as detail'),
  })
  .meta({
    id: 'Problem',
    description: 'Problem details (RFC 9457). Further fields have the facts of the error, in snake_case.',
  })
