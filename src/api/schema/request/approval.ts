import { z } from 'zod'

/** Which approvals to list. */
export const listApprovalsQuery = z.strictObject({
  status: z.enum(['pending', 'answered', 'withdrawn', 'any']).optional().describe('default: pending'),
})

/** The body of an answer to an approval. */
export const answerApprovalSchema = z.strictObject({
  answer: z.enum(['allow', 'allow_in_conversation', 'allow_always', 'deny']),
  comment: z.string().max(2_000).optional().describe('for the model, such as the reason of a denial'),
  by: z.string().max(200).optional().describe('who answers; default: the name of the token'),
  resume: z.boolean().optional().describe('continues the turn; default: true'),
})
