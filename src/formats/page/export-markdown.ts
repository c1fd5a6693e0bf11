import { type Block, isKnown } from '../../core/block.ts'
import { gistOf, mainArgument, outputText } from '../../core/gist.ts'
import type { Message } from '../../core/message.ts'
import type { ExportedConversation, ExportedLine } from './exported-conversation.ts'

/** Lines of a conversation as Markdown, one after another. `safe` makes stored text harmless. */
export async function* exportMarkdown(
  exported: ExportedConversation,
  lines: readonly ExportedLine[],
  safe: (text: string) => string,
): AsyncGenerator<string> {
  const { conversation } = exported
  const facts = [
    `Conversation ${conversation.id}`,
    `begun ${conversation.createdAt.toISOString()}`,
    ...(conversation.directory === null ? [] : [conversation.directory]),
  ]
  yield safe(`# ${oneLine(conversation.title ?? 'Untitled')}\n\n${facts.join(' · ')}\n`)
  for (const [i, line] of lines.entries()) {
    let isBegun = i === 0
    for await (const part of exported.parts(line)) {
      for (const message of part.messages) {
        const heading = isBegun ? [] : ['---', `# ${headingOf(line, message)}`]
        isBegun = true
        const author = `## ${exported.speaker(message, part)} (${message.createdAt.toISOString()}, ${message.id})`
        yield safe(`\n${[...heading, author, ...partsOf(message)].join('\n\n')}\n`)
      }
    }
  }
}

function headingOf({ from, branches }: ExportedLine, first: Message): string {
  const name = branches.length > 0 ? `Branch ${branches.join(', ')}` : oneLine(gistOf(first)).slice(0, 80)
  return from === null ? name : `${name} (from ${from})`
}

function partsOf(message: Message): readonly string[] {
  if (message.erased)
    return [`*Erased on ${message.erased.erasedAt.toISOString()}: ${oneLine(message.erased.reason)}*`]
  return message.content.map(partOf).filter(part => part !== '')
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
      const about = oneLine(mainArgument(block.input))
      const input = typeof block.input === 'string' ? block.input : JSON.stringify(block.input, null, 2)
      return `**${oneLine(block.name)}** ${about}\n\n${fenced(input, typeof block.input === 'string' ? '' : 'json')}`
    }
    case 'tool_result':
      return `${block.isError ? 'Failed:\n\n' : ''}${fenced(outputText(block.output), '')}`
    default:
      return `*${block.type}: ${oneLine(block.name ?? block.url ?? block.mime)}*`
  }
}

/** Uses more backticks than any run of them in the text. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
