import { type Block, isKnown } from '../../core/block.ts'
import type { Message } from '../../core/message.ts'
import { argumentOf, gistOf, outputText } from '../output/gist.ts'
import type { Exported, Line } from './exported.ts'

/** A conversation as Markdown: the first line of it, or all of them one after another. Control characters are still
 *  in it. */
export function toMarkdown(exported: Exported, all: boolean): string {
  const { conversation, lines } = exported
  const facts = [
    `Conversation ${conversation.id}`,
    `begun ${conversation.createdAt.toISOString()}`,
    ...(conversation.directory === null ? [] : [conversation.directory]),
  ]
  const shown = all ? lines : lines.slice(0, 1)
  const parts = [`# ${oneLine(conversation.title ?? 'Untitled')}`, facts.join(' · ')]
  for (const [i, line] of shown.entries()) {
    if (i > 0) parts.push('---', `# ${headingOf(line)}`)
    for (const message of line.messages) {
      parts.push(`## ${exported.speaker(message)} (${message.createdAt.toISOString()}, ${message.id})`)
      parts.push(...partsOf(message))
    }
  }
  return `${parts.join('\n\n')}\n`
}

function headingOf({ from, branches, messages }: Line): string {
  const name =
    branches.length > 0 ? `Branch ${branches.join(', ')}` : oneLine(gistOf(messages[0]!)).slice(0, 80)
  return from === null ? name : `${name} (from ${from})`
}

function partsOf(message: Message): readonly string[] {
  if (message.erased)
    return [`*Erased on ${message.erased.at.toISOString()}: ${oneLine(message.erased.reason)}*`]
  return message.blocks.map(partOf).filter(part => part !== '')
}

function partOf(block: Block): string {
  if (!isKnown(block)) return fenced(JSON.stringify(block, null, 2), 'json')
  switch (block.type) {
    case 'text':
      return block.text.trimEnd()
    case 'thinking':
      return block.text
        .trimEnd()
        .split('\n')
        .map(line => `> ${line}`)
        .join('\n')
    case 'tool_call': {
      const about = oneLine(argumentOf(block.input))
      const input = typeof block.input === 'string' ? block.input : JSON.stringify(block.input, null, 2)
      return `**${oneLine(block.name)}** ${about}\n\n${fenced(input, typeof block.input === 'string' ? '' : 'json')}`
    }
    case 'tool_result':
      return `${block.isError ? 'Failed:\n\n' : ''}${fenced(outputText(block.output), '')}`
    default:
      return `*${block.type}: ${oneLine(block.name ?? block.url ?? block.mime)}*`
  }
}

/** Fenced by more backticks than the text itself has in a row. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
