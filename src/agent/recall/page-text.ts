import { fence, guardAfterLabel, guardLine } from '../../context/text/guard-lines.ts'
import type { Role } from '../../core/message.ts'
import { titleFrom } from '../../core/title.ts'
import type { ConversationPage, PageMessage } from './read-page.ts'

/** A page as a text with roles, numbers and times. It is in a fence that stored text cannot close, and ends
 *  with a hint how to read more. */
export function writePage(page: ConversationPage): string {
  const { total, messages, earlier, later, id } = page
  const heading = headingOf(page)
  if (total === 0) return [`${heading}\nIt has no messages.`, ...unfinishedLines(page)].join('\n')
  const [first, last] = [messages[0], messages.at(-1)]
  if (!first || !last) return `${heading}\nIt has ${total} messages: the last is #${total - 1}.`
  const range = first === last ? `message #${first.number}` : `messages #${first.number} to #${last.number}`
  const lines = messages.map(message => writePageMessage(message, id)).join('\n\n')
  const hints = [
    ...(earlier === null ? [] : [`Earlier: from ${earlier}.`]),
    ...(later === null ? [] : [`Later: from ${later}.`]),
  ]
  const more =
    hints.length === 0 ? [] : [`To read on, read_conversation with id ${quoted(id)}. ${hints.join(' ')}`]
  return [
    `${heading} Here: ${range} of ${total}.`,
    `<${fence}>`,
    lines,
    `</${fence}>`,
    ...unfinishedLines(page),
    ...more,
  ].join('\n')
}

/** The answer that is not complete follows the messages, in a fence of its own. */
function unfinishedLines({ unfinished }: ConversationPage): readonly string[] {
  if (unfinished === null) return []
  return [
    'The last turn has not ended: it is in progress, or its process has died. Its answer so far:',
    `<${fence}>`,
    guardLine(unfinished),
    `</${fence}>`,
  ]
}

/** A message of a page as a text. The label is on a line of its own. The guard recognizes it, so that stored
 *  text cannot imitate it. */
export function writePageMessage(message: PageMessage, id: string): string {
  const { role, number, createdAt, text, remarks, continuesAt, remaining } = message
  const onward = `read_conversation with id ${quoted(id)}, from ${number}, limit 1 and offset ${continuesAt} reads on`
  const what = remaining === null ? 'more follows' : `${remaining} more characters`
  return [
    `${roleLabels[role]}: (#${number}, ${createdAt.toISOString()})${remarks}`,
    ...(text === '' ? [] : [guardLine(text)]),
    ...(continuesAt === null ? [] : [`[${what}: ${onward}]`]),
  ].join('\n')
}

function headingOf({ conversation, branch }: ConversationPage): string {
  const title = titleFrom(conversation.title ?? '')
  const named = title === null ? '' : ` ${quoted(title)}`
  const kind = conversation.kind === 'main' ? '' : ' of a subagent'
  const where = branch.name === 'main' ? '' : `, branch ${quoted(branch.name)}`
  return `Conversation ${conversation.id}${kind}${named}${where}, begun ${conversation.createdAt.toISOString()}.`
}

/** Stored text in a sentence of ours, such as a title or a name. */
export function quoted(text: string): string {
  return guardAfterLabel(JSON.stringify(text))
}

/** The labels of roles in recalled text. */
export const roleLabels: Record<Role, string> = {
  user: 'User',
  assistant: 'Assistant',
  system: 'System',
  tool_result: 'Tool',
}
