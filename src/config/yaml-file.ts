import { readFileSync } from 'node:fs'
import type { Node, Pair, YAMLMap } from 'yaml'
import { InvalidError } from '../core/errors.ts'

/** A value of a file, and its line. */
export interface Entry {
  readonly line: number
  readonly value: string | number | boolean | null | readonly Entry[] | ReadonlyMap<string, Entry>
}

/** Limits on size and depth: a settings file is small and flat. */
const mostBytes = 1_000_000
const deepest = 12
const mostEntries = 10_000

/** Reads a settings file. The YAML parser is loaded only here, because most runs have no such file. Throws
 *  InvalidError with the line. `shown` is the file's name in messages. */
export async function readYamlFile(file: string, shown: string): Promise<Entry> {
  return parseYaml(readText(file, shown), shown)
}

/** Parses the text of a settings file. Throws InvalidError with the line. */
export async function parseYaml(text: string, shown: string): Promise<Entry> {
  const { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } = await import('yaml')
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: true, version: '1.2' })
  const [error] = document.errors
  if (error) throw new InvalidError(`${shown}:${lineAt(error.pos[0])}`, `is not valid YAML: ${error.message}`)
  let entries = 0
  return entryOf(document.contents, 1, 0)

  function lineAt(offset: number | undefined): number {
    return offset === undefined ? 1 : Math.max(1, lineCounter.linePos(offset).line)
  }

  function entryOf(given: unknown, above: number, depth: number): Entry {
    const node = given as Node | null
    const line = node?.range ? lineAt(node.range[0]) : above
    if (depth > deepest) throw new InvalidError(`${shown}:${line}`, 'is nested too deeply')
    // Guards against YAML alias bombs.
    if (++entries > mostEntries) throw new InvalidError(`${shown}:${line}`, 'has too many values')
    if (node === null) return { line, value: null }
    if (isAlias(node)) return { line, value: entryOf(node.resolve(document) ?? null, line, depth + 1).value }
    if (isMap(node)) return { line, value: membersOf(node, line, depth) }
    if (isSeq(node)) return { line, value: node.items.map(item => entryOf(item, line, depth + 1)) }
    const value = isScalar(node) ? node.value : null
    const isPlain = value === null || ['string', 'number', 'boolean'].includes(typeof value)
    return { line, value: isPlain ? (value as string | number | boolean | null) : String(value) }
  }

  function membersOf(map: YAMLMap, above: number, depth: number): ReadonlyMap<string, Entry> {
    return new Map(
      map.items.map((pair: Pair): [string, Entry] => {
        const key = pair.key as Node
        const line = key?.range ? lineAt(key.range[0]) : above
        const entry = entryOf(pair.value, line, depth + 1)
        // The line of a setting is the line of its name.
        return [isScalar(key) ? String(key.value) : String(key), { ...entry, line }]
      }),
    )
  }
}

function readText(file: string, shown: string): string {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    throw new InvalidError(shown, `cannot be read: ${(error as Error).message}`)
  }
  if (bytes.length > mostBytes) throw new InvalidError(shown, 'is too large for a file of settings')
  return bytes.toString('utf8')
}
