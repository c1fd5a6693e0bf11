import { optionalText, ownTool, textField } from '../agent/tools/own-tool.ts'
import type { AgentTool } from '../agent/tools/tool.ts'
import { sha256Hex } from '../core/hash.ts'
import type { Task, TaskKeeper } from '../core/task.ts'

/** The task that an agent works on, and where it files others. */
export interface SubmitTaskOptions {
  /** Stores the new tasks. */
  readonly tasks: Pick<TaskKeeper, 'submitTask'>
  /** New tasks name it as their parent and belong to its project. */
  readonly parent: Pick<Task, 'id' | 'project'>
}

/** The tool `submit_task`: an agent that works on a task files another one for later. The id of the new task
 *  is made from the call, so a call that is repeated after a crash files it once. */
export function submitTaskTool({ tasks, parent }: SubmitTaskOptions): AgentTool {
  return ownTool({
    description:
      'Files a new task, which another worker does later. Use it for work that is not part of your own task.',
    input: {
      description: textField({ min: 1, about: 'What is to be done' }),
      context: optionalText({ about: 'Everything else that has to be known for it' }),
    },
    repeatable: true,
    readOnly: false,
    needsApproval: false,
    async run({ description, context }, { conversationId, messageId, callId }) {
      const call = sha256Hex(JSON.stringify([conversationId, messageId, callId])).slice(0, 8)
      const { id, status } = await tasks.submitTask({
        id: `${parent.id}.${call}`,
        project: parent.project,
        description,
        context: context ?? null,
        parent: parent.id,
      })
      return { task: id, status }
    },
  })
}
