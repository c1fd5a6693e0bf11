import { type Block, isKnown } from './block.ts'
import { collapseSpaces } from './collapse-spaces.ts'
import type { Json } from './json.ts'
import type { Message } from './message.ts'
import { withoutMarkup } from './without-markup.ts'

/** A message in one line: its texts without the marks of Markdown, or a description of its content. White
 *  space is collapsed; control characters are kept. */
export function gistOf(message: Pick<Message, 'content' | 'erased'>): string {
  if (message.erased) return '(erased)'
  const texts: string[] = []
  let other = ''
  for (const block of message.content) {
    const text = block.type === 'text' ? previewOf(String(block.text ?? '')) : ''
    if (text !== '') texts.push(text)
    else other ||= blockGist(block)
  }
  return texts.join(' ') || other || '(empty)'
}

/** Most characters of a text that a preview reads. */
const longestRead = 8_000

function previewOf(text: string): string {
  return collapseSpaces(withoutMarkup(text.slice(0, longestRead)))
}

function blockGist(block: Block): string {
  if (!isKnown(block)) return `(${collapseSpaces(block.type)})`
  switch (block.type) {
    case 'text':
      return ''
    case 'thinking':
      return collapseSpaces(block.text)
    case 'tool_call':
      return collapseSpaces(`${block.name} ${mainArgument(block.input)}`)
    case 'tool_result':
      return collapseSpaces(outputText(block.output))
    default:
      return `(${block.name ?? block.mime})`
  }
}

/** Argument names that usually say what a call is about. */
const telling = [
  'command',
  'cmd',
  'path',
  'file_path',
  'file',
  'filename',
  'query',
  'pattern',
  'url',
  'prompt',
  'text',
]

/** The most informative argument of a call, in one line. */
export function mainArgument(input: Json): string {
  if (typeof input === 'string') return collapseSpaces(input)
  if (input === null || typeof input !== 'object') return input === null ? '' : String(input)
  if (!Array.isArray(input)) {
    const fields = input as { readonly [name: string]: Json }
    const name = telling.find(one => typeof fields[one] === 'string')
    if (name !== undefined) return collapseSpaces(String(fields[name]))
    const texts = Object.values(fields).filter(value => typeof value === 'string')
    if (texts.length === 1) return collapseSpaces(String(texts[0]))
    if (Object.keys(fields).length === 0) return ''
  }
  return collapseSpaces(JSON.stringify(input))
}

/** A tool's output as text: its text parts if it has only those, otherwise JSON. */
export function outputText(output: Json): string {
  if (typeof output === 'string') return output
  if (Array.isArray(output)) {
    const texts = output.map(piece => textIn(piece as Json))
    if (texts.length > 0 && texts.every(text => text !== null)) return texts.join('\n')
  }
  return textIn(output) ?? JSON.stringify(output, null, 2)
}

function textIn(piece: Json): string | null {
  if (typeof piece === 'string') return piece
  if (piece === null || typeof piece !== 'object' || Array.isArray(piece)) return null
  const { text } = piece as { readonly [name: string]: Json }
  return typeof text === 'string' && Object.keys(piece).every(key => key === 'text' || key === 'type')
    ? text
    : null
}
