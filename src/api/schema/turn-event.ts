import { z } from 'zod'
import { problemSchema } from './problem.ts'
import { usageSchema } from './usage.ts'
import { countSchema, idSchema } from './values.ts'

const turn = z.string().describe('the key of the turn')
const conversation = idSchema.nullable().describe('the conversation of the turn')
const finish = ['stop', 'tool_calls', 'length', 'filtered', 'refused', 'other'] as const

const startedSchema = z
  .strictObject({
    type: z.literal('started'),
    turn,
    conversation,
    branch: z.string().nullable().describe('the branch that the turn writes to'),
    forked: z.boolean().describe('true if the turn is on a new sibling branch'),
  })
  .meta({ id: 'TurnStarted', description: 'The prompt is stored, and the model is called next.' })

const resumedSchema = z
  .strictObject({
    type: z.literal('resumed'),
    at: z
      .enum(['question', 'results', 'answer'])
      .describe(
        'where it was interrupted: before the answer, before all results of its tools, within an answer',
      ),
  })
  .meta({ id: 'TurnResumed', description: 'An interrupted turn continues.' })

const textSchema = z
  .strictObject({ type: z.literal('text'), text: z.string() })
  .meta({ id: 'TurnText', description: 'A piece of the answer.' })

const thinkingSchema = z
  .strictObject({ type: z.literal('thinking'), text: z.string() })
  .meta({ id: 'TurnThinking', description: 'A piece of the reasoning of the model.' })

const toolStartedSchema = z
  .strictObject({
    type: z.literal('tool_started'),
    call_id: z.string().describe('identifies the call'),
    name: z.string().describe('the name of the tool'),
    input: z.unknown().describe('the arguments, as the model wrote them'),
  })
  .meta({ id: 'TurnToolStarted', description: 'A tool runs.' })

const toolEndedSchema = z
  .strictObject({
    type: z.literal('tool_ended'),
    call_id: z.string().describe('as in tool_started'),
    name: z.string().describe('the name of the tool'),
    output: z.unknown().describe('the result, or the text of the error'),
    is_error: z.boolean().describe('true if the tool failed'),
  })
  .meta({ id: 'TurnToolEnded', description: 'A tool has ended.' })

const answeredSchema = z
  .strictObject({
    type: z.literal('answered'),
    step: countSchema.describe('the number of the call of the model within the turn, from 1'),
    message: idSchema.nullable().describe('the stored answer; null if it waits to be stored'),
    finish: z.enum(finish).describe('why the answer ended'),
    usage: usageSchema,
  })
  .meta({ id: 'TurnAnswered', description: 'A call of the model has ended.' })

const retryingSchema = z
  .strictObject({ type: z.literal('retrying'), left: countSchema.describe('remaining attempts') })
  .meta({ id: 'TurnRetrying', description: 'A call of the model has failed and is repeated.' })

const troubleSchema = z
  .strictObject({ type: z.literal('trouble') })
  .meta({ id: 'TurnTrouble', description: 'Storage fails. The turn continues.' })

const subagentSchema = z
  .strictObject({
    type: z.literal('subagent'),
    name: z.string().describe('the name of the subagent'),
    conversation: idSchema.nullable().describe('its conversation'),
    get event() {
      return turnEventSchema
    },
  })
  .meta({ id: 'TurnSubagent', description: 'An event of a subagent.' })

const endedSchema = z
  .strictObject({
    type: z.literal('ended'),
    turn,
    conversation,
    branch: z.string().nullable().describe('the branch that was written to'),
    status: z.enum(['complete', 'interrupted']).describe('interrupted: the turn was stopped'),
    stop: z
      .enum([...finish, 'steps', 'approval', 'aborted'])
      .describe('why it ended; steps: too many calls of the model; approval: calls wait for one'),
    approvals: z
      .array(z.strictObject({ id: z.string(), title: z.string().describe('the call in one line') }))
      .describe('the calls that wait for an approval'),
    text: z.string().describe('the text of the last answer'),
    head: idSchema.nullable().describe('the newest stored message'),
    usage: usageSchema,
    saved: z.boolean().describe('false if messages wait because storage failed'),
  })
  .meta({ id: 'TurnEnded', description: 'The turn has ended. This event is the last one.' })

const failedSchema = z
  .strictObject({ type: z.literal('failed'), problem: problemSchema })
  .meta({ id: 'TurnFailed', description: 'The turn has failed. This event is the last one.' })

/** An event of a turn, as `POST …/turns` streams it. */
export const turnEventSchema = z
  .discriminatedUnion('type', [
    startedSchema,
    resumedSchema,
    textSchema,
    thinkingSchema,
    toolStartedSchema,
    toolEndedSchema,
    answeredSchema,
    retryingSchema,
    troubleSchema,
    subagentSchema,
    endedSchema,
    failedSchema,
  ])
  .meta({
    id: 'TurnEvent',
    description:
      'The data of an event of a turn. The name of the event is its `type`. A newer service may send other ' +
      'types: ignore them.',
  })
