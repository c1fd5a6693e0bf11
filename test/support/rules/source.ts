import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parseAst } from 'vitest/node'

/** A source file. `path` is relative to the repository, with forward slashes. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** A rule returns one line for each fault. The line begins with the path. */
export type Rule = (files: readonly SourceFile[]) => readonly string[]

/** A node of the syntax tree. */
export interface SyntaxNode {
  readonly type: string
  readonly [field: string]: unknown
}

/** An import or re-export, of values or of types. `from` is null if the module is computed at run time. */
export interface Import {
  readonly from: string | null
  readonly names: readonly string[]
}

const extensions = /\.(ts|tsx|mts|js|mjs)$/

/** All source files below the given folders of the repository. A folder that does not exist has none. */
export function readSources(...folders: readonly string[]): readonly SourceFile[] {
  const root = join(import.meta.dirname, '../../..')
  return readdirSync(root, { withFileTypes: true })
    .filter(entry => entry.isDirectory() && folders.includes(entry.name))
    .flatMap(folder =>
      readdirSync(join(root, folder.name), { recursive: true, encoding: 'utf8' }).map(path =>
        posix.join(folder.name, path.replaceAll('\\', '/')),
      ),
    )
    .filter(path => extensions.test(path) && !path.includes('node_modules/'))
    .sort()
    .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** Several rules ask for the same: parsing the repository takes seconds. */
function oncePerFile<T extends object>(read: (file: SourceFile) => T): (file: SourceFile) => T {
  const known = new WeakMap<SourceFile, T>()
  return file => {
    const before = known.get(file)
    if (before) return before
    const found = read(file)
    known.set(file, found)
    return found
  }
}

/** Calls `see` for every node of the file, with its parent node and its field in that parent. */
export function visit(
  file: SourceFile,
  see: (node: SyntaxNode, holder: SyntaxNode | null, field: string) => void,
): void {
  const lang = file.path.endsWith('.tsx') ? 'tsx' : /ts$/.test(file.path) ? 'ts' : 'js'
  const open: [unknown, SyntaxNode | null, string][] = [[parseAst(file.text, { lang }), null, '']]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, holder, field] = next
    if (Array.isArray(value))
      open.push(...value.map((one): [unknown, SyntaxNode | null, string] => [one, holder, field]))
    else if (isNode(value)) {
      see(value, holder, field)
      for (const [name, child] of Object.entries(value)) open.push([child, value, name])
    }
  }
}

/** The imports of a file, including `import()`, `typeof import()` and `export … from`. */
export const importsOf = oncePerFile(readImports)

function readImports(file: SourceFile): readonly Import[] {
  const found: Import[] = []
  visit(file, node => {
    if (!importing.has(node.type) || node.source === null) return
    const from = isNode(node.source) && typeof node.source.value === 'string' ? node.source.value : null
    const specifiers = Array.isArray(node.specifiers) ? node.specifiers.filter(isNode) : []
    found.push({ from, names: specifiers.map(nameOf) })
  })
  return found
}

/** A name that a file declares and exports. Re-exports are not declarations. */
export interface ExportedName {
  readonly name: string
  /** Interfaces, type aliases and classes are types; a class is also a value. */
  readonly isType: boolean
}

/** The names that the file declares and exports. */
export const exportsOf = oncePerFile(readExports)

function readExports(file: SourceFile): readonly ExportedName[] {
  const found = new Map<string, boolean>()
  visit(file, node => {
    if (node.type !== 'ExportNamedDeclaration' || !isNode(node.declaration)) return
    const { declaration } = node
    const isType = typeDeclarations.has(declaration.type)
    for (const name of declaredBy(declaration)) found.set(name, isType || found.get(name) === true)
  })
  return [...found].map(([name, isType]) => ({ name, isType }))
}

const typeDeclarations = new Set(['TSInterfaceDeclaration', 'TSTypeAliasDeclaration', 'ClassDeclaration'])

function declaredBy(declaration: SyntaxNode): readonly string[] {
  if (isNode(declaration.id)) return [String(declaration.id.name)]
  const declarations = Array.isArray(declaration.declarations) ? declaration.declarations.filter(isNode) : []
  return declarations.flatMap(({ id }) => (isNode(id) && id.type === 'Identifier' ? [String(id.name)] : []))
}

/** The imported file's path in the repository, or null if it is a package or a module of Node. */
export function resolve(file: SourceFile, from: string): string | null {
  return from.startsWith('.') ? posix.join(posix.dirname(file.path), from) : null
}

const importing = new Set([
  'ImportDeclaration',
  'ImportExpression',
  'TSImportType',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
])

function nameOf(specifier: SyntaxNode): string {
  const imported = specifier.imported ?? specifier.local
  if (specifier.type === 'ImportNamespaceSpecifier') return '*'
  if (specifier.type === 'ImportDefaultSpecifier') return 'default'
  return isNode(imported) ? String(imported.name ?? imported.value) : ''
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}
