import { isBuiltin } from 'node:module'
import { importsOf, type Rule, type SourceFile, type SyntaxNode, visit } from './source.ts'

/** Folders of pure functions. `core` does not import packages either, and the mappings of `api` do not load
 *  zod, which takes longer than a short command. */
const pure = ['core', 'api', 'context', 'formats', 'render']

/** Hashing is a function of its input. Everything else of Node is refused, including random ids. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'node:buffer': ['isUtf8'],
  'node:crypto': ['hash', 'createHash'],
}

const impure = new Set([
  ...['process', 'console', 'fetch', 'globalThis', 'global', 'require', 'navigator', 'WebSocket', 'Worker'],
  ...['setTimeout', 'setInterval', 'setImmediate', 'performance', 'crypto'],
])

/** `core`, `api`, `context`, `formats` and `render` do no I/O and read neither the clock nor random numbers;
 *  `core` and the mappings of `api` import no packages. */
export const purity: Rule = files =>
  files
    .filter(file => pure.some(folder => file.path.startsWith(`src/${folder}/`)))
    .flatMap(file => [...faultyImports(file), ...faultyNames(file)])

function faultyImports(file: SourceFile): readonly string[] {
  return importsOf(file).flatMap(({ from, names }) => {
    if (from === null || from.startsWith('.')) return []
    if (isBuiltin(from)) {
      const wrong = names.filter(name => !allowed[from]?.includes(name))
      if (allowed[from] === undefined) return [`${file.path}: imports ${from}`]
      return wrong.map(name => `${file.path}: imports ${name} of ${from}`)
    }
    return /^src\/(core|api)\/(?!schema\/)/.test(file.path)
      ? [`${file.path}: imports the package ${from}`]
      : []
  })
}

function faultyNames(file: SourceFile): readonly string[] {
  const faults: string[] = []
  visit(file, (node, holder, field) => {
    const fault = clockOrRandom(node) ?? (isReference(node, holder, field) ? impureName(node) : null)
    if (fault !== null) faults.push(`${file.path}: uses ${fault}`)
  })
  return faults
}

function clockOrRandom(node: SyntaxNode): string | null {
  const callee = named(node.callee)
  if (node.type === 'CallExpression' && callee === 'Date') return 'Date()'
  if (node.type === 'NewExpression' && callee === 'Date' && isEmpty(node.arguments)) return 'new Date()'
  if (node.type !== 'MemberExpression') return null
  const path = `${named(node.object)}.${named(node.property)}`
  return path === 'Date.now' || path === 'Math.random' ? path : null
}

function impureName(node: SyntaxNode): string | null {
  const name = named(node)
  return name !== null && impure.has(name) ? name : null
}

/** False for a property name: `x.process`, `{ process: 1 }`, `interface { process: … }`. */
function isReference(node: SyntaxNode, holder: SyntaxNode | null, field: string): boolean {
  if (node.type !== 'Identifier' || holder === null) return false
  const labels = field === 'property' || field === 'key' || field === 'imported' || field === 'exported'
  return !labels || holder.computed === true
}

function named(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !('name' in value)) return null
  return typeof value.name === 'string' ? value.name : null
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}
