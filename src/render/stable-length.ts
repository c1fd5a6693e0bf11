import { markdownTree } from './markdown-tree.ts'
import { marked } from './marked.ts'
import type { MarkdownBlock, PlacedBlock } from './tree.ts'

/** The length of the longest beginning of a text whose look does not depend on text that follows. The text
 *  ends after white space. An opening sign, such as `**`, waits for its end, and the first row of a table for
 *  the whole table. */
export function stableLength(text: string): number {
  const lineStart = text.lastIndexOf('\n') + 1
  const line = text.slice(lineStart)
  // The line may still become a heading, a fence, an item or a row of a table.
  if (line !== '' && (undecided.test(line) || line.includes('|'))) return stableLines(text, lineStart)
  const last = lastOf(markdownTree(text))
  if (last?.type === 'code') return line.length > longestWait ? text.length : lineStart
  if (line === '') return stableLines(text, lineStart)
  return Math.min(text.length, openSign(text))
}

/** The maximum number of characters that wait for a closing sign. */
const longestWait = 400

/** The beginning of a line that does not yet say what the line is. */
const undecided =
  /^[\s>]*(?:(?:[-+*]|\d{1,9}[.)]|#{1,6})\s+)*(?:[-+*=_~`#|:.\s]*|\[[ xX]?\]?\s*|\d{1,9}[.)]?\s*|#.*|```.*|~~~.*)$/

/** The stable part of whole lines. */
function stableLines(text: string, end: number): number {
  const lines = text.slice(0, end)
  if (end === 0) return 0
  const last = lastOf(markdownTree(lines))
  if (last?.type === 'code') return end
  let at = end
  // A row of a table, or a line that may become its head.
  for (;;) {
    const before = lines.lastIndexOf('\n', at - 2) + 1
    if (at === 0 || !lines.slice(before, at).includes('|')) break
    at = before
    if (last?.type !== 'table') break
  }
  return at === end ? Math.min(end, openSign(lines)) : at
}

/** The block that contains the end of a text. */
function lastOf(blocks: readonly PlacedBlock[]): MarkdownBlock | null {
  const block = blocks.at(-1)?.block
  if (block?.type === 'quote') return lastOf(block.blocks)
  if (block?.type === 'list') return lastOf(block.items.at(-1)?.blocks ?? [])
  return block ?? null
}

/** The position of the first sign in the last paragraph that may open a span which is not closed yet. */
function openSign(text: string): number {
  const start = paragraphStart(text)
  const paragraph = text.slice(start)
  if (paragraph.length > 10 * longestWait) return text.length
  let at = start
  for (const token of marked().Lexer.lexInline(paragraph, { gfm: true, breaks: true })) {
    if (token.type === 'text') {
      for (const { index } of token.raw.matchAll(signs)) {
        const sign = at + index
        if (text.length - sign <= longestWait && mayOpen(text, sign)) return sign
      }
    }
    at += token.raw.length
  }
  return text.length
}

const signs = /`+|\*+|_+|~+|!?\[/g

function mayOpen(text: string, at: number): boolean {
  const sign = /^(?:`+|\*+|_+|~+|!?\[)/.exec(text.slice(at))![0]
  const [before, after] = [text[at - 1] ?? ' ', text[at + sign.length] ?? ' ']
  if (sign.startsWith('`')) return true
  if (sign.endsWith('[')) {
    const rest = text.slice(at)
    const end = rest.indexOf(']')
    return end === -1 || end === rest.length - 1 || (rest[end + 1] === '(' && !rest.includes(')', end))
  }
  if (/\s/.test(after)) return false
  return !(sign.startsWith('_') && /[\p{L}\p{N}]/u.test(before))
}

function paragraphStart(text: string): number {
  const found = [...text.matchAll(/\n[ \t>]*\n/g)].at(-1)
  return found === undefined ? 0 : found.index + found[0].length
}
