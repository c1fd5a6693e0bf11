import type { Json, JsonObject } from '../../core/json.ts'
import type { AgentTool } from '../tools/tool.ts'

/** The name of the tool, by which a plan is found again in a stored conversation. */
export const planToolName = 'update_plan'

const statuses: readonly Json[] = ['pending', 'in_progress', 'completed']
const priorities: readonly Json[] = ['high', 'medium', 'low']

/** A tool that shows the plan of the agent. Each call replaces the plan. */
export const planTool: AgentTool = {
  description:
    'Shows your plan to the person. For work of several steps: call it with all steps at the start, and again with their new status as they change.',
  schema: {
    type: 'object',
    properties: {
      entries: {
        type: 'array',
        description: 'all steps, in order',
        items: {
          type: 'object',
          properties: {
            content: { type: 'string', description: 'the step, in one line' },
            status: { type: 'string', enum: statuses },
            priority: { type: 'string', enum: priorities, default: 'medium' },
          },
          required: ['content', 'status'],
        },
      },
    },
    required: ['entries'],
  },
  repeatable: true,
  readOnly: true,
  needsApproval: false,
  kind: 'think',
  check: input => (planEntries(input) === null ? 'entries must be a list of { content, status }' : null),
  async run(input, { emit }) {
    const entries = planEntries(input)!
    emit({ type: 'plan', entries })
    return { output: 'shown' }
  },
}

/** The plan in an input, as the Agent Client Protocol has it; null if it is not a plan. */
export function planEntries(input: Json): JsonObject[] | null {
  const { entries } = (typeof input === 'object' && input !== null ? input : {}) as { entries?: Json }
  if (!Array.isArray(entries)) return null
  const read = entries.map(entry => {
    const { content, status, priority = 'medium' } = (entry ?? {}) as JsonObject
    const isStep = typeof content === 'string' && statuses.includes(status ?? null)
    return isStep && priorities.includes(priority) ? ({ content, status, priority } as JsonObject) : null
  })
  return read.includes(null) ? null : (read as JsonObject[])
}
