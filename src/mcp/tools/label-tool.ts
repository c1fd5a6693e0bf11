import { z } from 'zod'
import { quoted } from '../../agent/recall/page-text.ts'
import { InvalidError, NotFoundError } from '../../core/errors.ts'
import { type EndpointTool, endpointTool, type ToolSetting } from './endpoint-tool.ts'
import { openScope } from './open-scope.ts'

const input = z.strictObject({
  id: z.string().min(1).describe('The id of a message, or the beginning of it'),
  label: z.string().max(512).describe('The label. An empty one removes the label'),
})

const output = z.object({ conversation: z.string(), message: z.string(), label: z.string().nullable() })

/** `label_message`: marks a message. The message itself does not change. */
export function labelTool({ store, scope }: ToolSetting): EndpointTool {
  return endpointTool({
    name: 'label_message',
    title: 'Label a message',
    description:
      'Puts a label on a stored message, in place of an earlier one. The words of the message do not change.',
    input,
    output,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    needs: 'write',
    async run({ id, label }) {
      const opened = await store('write')
      const { admits } = await openScope(opened, scope)
      const { conversation, message } = await opened.resolve(id)
      if (!(await admits(conversation))) throw new NotFoundError('id', id)
      if (message === null)
        throw new InvalidError('id', 'names a conversation. Give a message: read_conversation has their ids')
      const given = label.trim() === '' ? null : label
      await opened.setLabel(message, given)
      const words = given === null ? 'has no label now' : `has the label ${quoted(given)}`
      return {
        text: `Message ${message} ${words}.`,
        data: { conversation: conversation.id, message, label: given },
      }
    },
  })
}
