import { parseAst } from 'rolldown/parseAst'

/** Starts a new line before each statement and each member of a class. Node prints the source line of an
 *  uncaught error: a minified file in one line would fill the screen of a developer. */
export function breakLines(code: string): string {
  const starts = [...startsIn(parseAst(code))].sort((a, b) => a - b)
  let broken = ''
  let end = 0
  for (const start of starts) {
    // A statement follows one of these, or a comment. Anything else would be an offset of another kind.
    if (start > 0 && !/[;{}:/\n ]/.test(code[start - 1]!))
      throw new Error(`a statement follows ${JSON.stringify(code.slice(start - 20, start))}`)
    broken += start === 0 || code[start - 1] === '\n' ? code.slice(end, start) : `${code.slice(end, start)}\n`
    end = start
  }
  return broken + code.slice(end)
}

interface Node {
  readonly type: string
  readonly start: number
}

/** Where the statements and members in a part of the tree start. */
function* startsIn(value: unknown): Generator<number> {
  if (Array.isArray(value)) {
    for (const one of value) yield* startsIn(one)
  } else if (isNode(value)) {
    const { body, consequent } = value as { readonly body?: unknown; readonly consequent?: unknown }
    for (const list of [body, consequent]) {
      if (Array.isArray(list)) for (const { start } of list as readonly Node[]) yield start
    }
    for (const child of Object.values(value)) yield* startsIn(child)
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}
