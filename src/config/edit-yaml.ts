import type { Document } from 'yaml'
import { InvalidError } from '../core/errors.ts'

/** A value of a YAML file. */
export type YamlValue =
  | string
  | number
  | boolean
  | null
  | readonly YamlValue[]
  | { readonly [key: string]: YamlValue }

/** Parses a value as a file would have it: `10` is a number, `[a, b]` a list. A text that is not YAML stays
 *  a text. */
export async function parseYamlValue(text: string): Promise<YamlValue> {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text, { version: '1.2' })
  return document.errors.length > 0 ? text : (document.toJS() as YamlValue)
}

/** The text of a settings file with one value changed. A value that is replaced by another single value
 *  changes only its own characters; otherwise comments, order and blank lines stay. Throws InvalidError if
 *  the text is not YAML, or if a part of the path is not a mapping. */
export async function setInYaml(
  text: string,
  path: readonly string[],
  value: YamlValue,
  shown: string,
): Promise<string> {
  const { isMap, isScalar, stringify } = await import('yaml')
  const document = await parsed(text, shown)
  const before = document.getIn(path, true)
  if (
    isScalar(before) &&
    before.range &&
    !before.anchor &&
    isSingle(value) &&
    before.type !== 'BLOCK_LITERAL'
  ) {
    const [start, end] = before.range
    const written = stringify(value, { lineWidth: 0 }).trimEnd()
    if (end > start && !written.includes('\n')) return `${text.slice(0, start)}${written}${text.slice(end)}`
  }
  for (let length = 1; length < path.length; length++) {
    const part = path.slice(0, length)
    const node = document.getIn(part, true)
    // `conversation:` without a value becomes a mapping; any other single value would be lost.
    if (isScalar(node) && node.value === null) document.deleteIn(part)
    else if (node !== undefined && !isMap(node))
      throw new InvalidError(`${shown} ${part.join('.')}`, 'is not a mapping of names to values')
  }
  document.setIn(path, document.createNode(value))
  return written(document, text)
}

/** The text without a value. Mappings that become empty are removed too. The same text if there is none. */
export async function unsetInYaml(text: string, path: readonly string[], shown: string): Promise<string> {
  const { isMap } = await import('yaml')
  const document = await parsed(text, shown)
  if (!document.hasIn(path)) return text
  document.deleteIn(path)
  for (let length = path.length - 1; length > 0; length--) {
    const part = path.slice(0, length)
    const node = document.getIn(part, true)
    if (!isMap(node) || node.items.length > 0) break
    document.deleteIn(part)
  }
  const isEmpty = isMap(document.contents) && document.contents.items.length === 0
  if (!isEmpty) return written(document, text)
  // An empty mapping would be written as `{}`. Comments stay.
  const comments = text.split('\n').filter(line => /^\s*(#|$)/.test(line))
  return comments.join('\n').trim() === '' ? '' : `${comments.join('\n').trimEnd()}\n`
}

async function parsed(text: string, shown: string): Promise<Document> {
  const { isMap, LineCounter, parseDocument } = await import('yaml')
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false, version: '1.2' })
  const [error] = document.errors
  if (error) {
    const { line } = lineCounter.linePos(error.pos[0])
    throw new InvalidError(`${shown}:${line}`, `is not valid YAML: ${error.message}`)
  }
  if (document.contents !== null && !isMap(document.contents))
    throw new InvalidError(shown, 'is not a mapping of names to values')
  return document
}

/** With the indentation of the text. */
function written(document: Document, text: string): string {
  const [, indent = '  '] = /^[^\s#][^\n]*:[ \t]*(?:#[^\n]*)?\n( +)\S/m.exec(text) ?? []
  return document.toString({ lineWidth: 0, indent: Math.max(2, indent.length), flowCollectionPadding: false })
}

function isSingle(value: YamlValue): boolean {
  return value === null || typeof value !== 'object'
}
