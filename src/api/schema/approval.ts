import { z } from 'zod'
import { timeSchema } from './values.ts'

/** A request for an approval. */
export const approvalSchema = z
  .strictObject({
    id: z.string(),
    conversation: z.string(),
    turn: z.string().describe('the key of the turn, which continues when all its calls are answered'),
    message: z.string().describe('the message that contains the call'),
    call_id: z.string(),
    name: z.string().describe('the name of the tool'),
    input: z.unknown().describe('the arguments, as the model wrote them'),
    kind: z.string().describe('read, search, edit, delete, move, execute, fetch, think or other'),
    title: z.string().describe('the call in one line'),
    preview: z.unknown().describe('what the call would change, if the tool can tell; otherwise null'),
    reason: z.string().nullable().describe('why this call is asked for in every mode'),
    status: z.enum(['pending', 'answered', 'withdrawn']),
    answer: z.enum(['allow', 'allow_in_conversation', 'allow_always', 'deny']).nullable(),
    answered_by: z.string().nullable(),
    comment: z.string().nullable().describe('what the person said to it; the model is told why it is denied'),
    asked_at: timeSchema,
    answered_at: timeSchema.nullable(),
  })
  .meta({ id: 'Approval', description: 'A call of a tool that a person has to allow first.' })

/** Approvals of a list. */
export const approvalsSchema = z.strictObject({ approvals: z.array(approvalSchema) })

/** The result of an answer. */
export const answeredApprovalSchema = z
  .strictObject({
    approval: approvalSchema,
    resumed: z
      .boolean()
      .describe(
        'the turn continues; false while other calls of it wait, or if this service cannot continue it',
      ),
  })
  .meta({ id: 'AnsweredApproval', description: 'An answered approval, and whether its turn continues.' })
