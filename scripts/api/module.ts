import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from 'rolldown/utils'
import { type DocComment, readDocComment } from './doc-comment.ts'

/** A node of the syntax tree, as far as this reader needs it. */
export interface ApiNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

/** One module, its statements and its comments. */
interface Module {
  readonly path: string
  readonly text: string
  readonly body: readonly ApiNode[]
  readonly comments: readonly ModuleComment[]
}

interface ModuleComment {
  readonly type: string
  readonly value: string
  readonly start: number
  readonly end: number
}

/** A property, method or element of a type. */
export interface ApiMember {
  readonly name: string
  readonly comment: DocComment | null
}

/** A name that a module declares and exports. A function with overloads has several signatures. */
export interface ApiDeclaration {
  readonly name: string
  readonly kind: 'function' | 'const' | 'class' | 'interface' | 'type'
  readonly signatures: readonly string[]
  readonly comment: DocComment | null
  readonly members: readonly ApiMember[]
  /** The types of this package that the declaration names. */
  readonly references: readonly string[]
}

const kinds: Readonly<Record<string, ApiDeclaration['kind']>> = {
  TSDeclareFunction: 'function',
  FunctionDeclaration: 'function',
  VariableDeclaration: 'const',
  ClassDeclaration: 'class',
  TSInterfaceDeclaration: 'interface',
  TSTypeAliasDeclaration: 'type',
}

/** Reads what modules export, following re-exports by name. Works on sources and on emitted `.d.ts` files. */
export function apiReader() {
  const modules = new Map<string, Module>()

  function read(path: string): Module {
    const known = modules.get(path)
    if (known) return known
    const text = readFileSync(path, 'utf8')
    const { program, comments, errors } = parseSync(path, text, {
      lang: path.endsWith('.d.ts') ? 'dts' : 'ts',
    })
    if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`)
    const module = { path, text, body: program.body as unknown as readonly ApiNode[], comments }
    modules.set(path, module)
    return module
  }

  /** Every export of a module, by its public name. */
  function exportsOf(path: string): readonly ApiDeclaration[] {
    const module = read(path)
    const found = module.body
      .filter(node => node.type === 'ExportNamedDeclaration')
      .flatMap(node => {
        if (isNode(node.declaration)) return namesOf(node.declaration)
        return nodesIn(node.specifiers).map(specifier => nameOf(specifier.exported))
      })
    return [...new Set(found)].map(name => declarationOf(path, name))
  }

  /** The declaration behind an exported name. Throws if there is none. */
  function declarationOf(path: string, name: string): ApiDeclaration {
    const module = read(path)
    for (const node of module.body) {
      if (node.type !== 'ExportNamedDeclaration' || isNode(node.declaration)) continue
      const specifier = nodesIn(node.specifiers).find(one => nameOf(one.exported) === name)
      if (!specifier) continue
      const local = nameOf(specifier.local)
      const from = isNode(node.source) ? String(node.source.value) : importOf(module, local)
      if (from === null) return { ...declared(module, local), name }
      return { ...declarationOf(resolve(path, from), importedName(module, node, local)), name }
    }
    return declared(module, name)
  }

  return { exportsOf }
}

/** The file that an import of a module names: `./a.ts` is `./a.d.ts` beside emitted types. */
function resolve(path: string, from: string): string {
  const target = join(dirname(path), from)
  return path.endsWith('.d.ts') ? target.replace(/\.(ts|js)$/, '.d.ts') : target
}

/** Where a name of the module is imported from, or null if the module declares it. */
function importOf(module: Module, local: string): string | null {
  const found = module.body.find(
    node =>
      node.type === 'ImportDeclaration' && nodesIn(node.specifiers).some(one => nameOf(one.local) === local),
  )
  return found && isNode(found.source) ? String(found.source.value) : null
}

/** The name that the other module exports for a local name of this one: `import { a as b }`. */
function importedName(module: Module, exporting: ApiNode, local: string): string {
  if (isNode(exporting.source)) return local
  const imported = module.body
    .filter(node => node.type === 'ImportDeclaration')
    .flatMap(node => nodesIn(node.specifiers))
    .find(specifier => nameOf(specifier.local) === local)
  return nameOf(imported?.imported) || local
}

function declared(module: Module, name: string): ApiDeclaration {
  const statements = module.body.filter(node => namesOf(declarationIn(node)).includes(name))
  // The implementation of overloads is not part of the API.
  const overloads = statements.filter(node => declarationIn(node).type === 'TSDeclareFunction')
  const shown = overloads.length > 0 ? overloads : statements
  const [first] = shown
  const kind = first && kinds[declarationIn(first).type]
  if (!first || !kind) throw new Error(`${module.path}: ${name} is not declared in a way that is understood`)
  return {
    name,
    kind,
    signatures: shown.map(node => signatureOf(module, node)),
    comment: shown.map(node => commentBefore(module, node.start)).find(comment => comment !== null) ?? null,
    members: membersOf(module, declarationIn(first)),
    references: [...new Set(shown.flatMap(node => referencesOf(module, declarationIn(node))))].sort(),
  }
}

/** The names of types in a declaration that this package declares, and not a library or a type parameter. */
function referencesOf(module: Module, declaration: ApiNode): readonly string[] {
  const found = new Set<string>()
  const open: unknown[] = [declaration]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Array.isArray(next)) open.push(...next)
    if (!isNode(next)) continue
    if (next.type === 'TSTypeReference') found.add(nameOf(next.typeName))
    if (next.type === 'TSInterfaceHeritage' || next.type === 'TSClassImplements')
      found.add(nameOf(next.expression))
    // The body of a function in a source file is not part of the API.
    open.push(...Object.entries(next).flatMap(([field, value]) => (isBody(next, field) ? [] : [value])))
  }
  return [...found].filter(name => isOurs(module, name))
}

function isBody(node: ApiNode, field: string): boolean {
  return (field === 'body' && node.type === 'FunctionDeclaration') || field === 'init' || field === 'value'
}

function isOurs(module: Module, name: string): boolean {
  const from = importOf(module, name)
  return from?.startsWith('.') ?? module.body.some(node => namesOf(declarationIn(node)).includes(name))
}

function declarationIn(node: ApiNode): ApiNode {
  return node.type === 'ExportNamedDeclaration' && isNode(node.declaration) ? node.declaration : node
}

function namesOf(declaration: ApiNode): readonly string[] {
  if (!(declaration.type in kinds)) return []
  if (declaration.type !== 'VariableDeclaration')
    return isNode(declaration.id) ? [nameOf(declaration.id)] : []
  return nodesIn(declaration.declarations).map(one => nameOf(one.id))
}

/** The declaration as a caller reads it: without `export` and `declare`, with the comments of its members. */
function signatureOf(module: Module, node: ApiNode): string {
  return (
    module.text
      .slice(node.start, node.end)
      .replace(/^export /, '')
      .replace(/^declare /, '')
      .replace(/;$/, '')
      .replace(/^[ \t]*(private|#).*\n/gm, '')
      // Examples of members are shown on their own.
      .replace(/(\n\s*\*)?\n\s*\* *@example[\s\S]*?\*\//g, ' */')
      .replace(/^\t+/gm, indent => '  '.repeat(indent.length))
  )
}

/** The doc comment that ends directly before a place. */
function commentBefore(module: Module, start: number): DocComment | null {
  const comment = module.comments.findLast(
    ({ type, value, end }) =>
      type === 'Block' &&
      value.startsWith('*') &&
      end <= start &&
      module.text.slice(end, start).trim() === '',
  )
  return comment ? readDocComment(comment.value) : null
}

/** The members of interfaces, classes and the object types of an alias. Constructors, private members and the
 *  literal that tells the arms of a union apart need no comment and are left out. */
function membersOf(module: Module, declaration: ApiNode): readonly ApiMember[] {
  return (
    memberNodes(declaration)
      .filter(
        node => node.kind !== 'constructor' && node.accessibility !== 'private' && !isDiscriminant(node),
      )
      .map(node => ({ name: memberName(module, node), comment: commentBefore(module, node.start) }))
      // A symbol such as `Symbol.asyncDispose` has one meaning everywhere.
      .filter(({ name }) => !/^(#|Symbol\.)/.test(name))
  )
}

function memberNodes(node: ApiNode): readonly ApiNode[] {
  switch (node.type) {
    case 'TSInterfaceDeclaration':
    case 'ClassDeclaration':
      return isNode(node.body) ? nodesIn(node.body.body) : []
    case 'TSTypeAliasDeclaration':
      return isNode(node.typeAnnotation) ? memberNodes(node.typeAnnotation) : []
    case 'TSTypeLiteral':
      return nodesIn(node.members)
    case 'TSUnionType':
    case 'TSIntersectionType':
      return nodesIn(node.types).flatMap(memberNodes)
    case 'TSParenthesizedType':
      return isNode(node.typeAnnotation) ? memberNodes(node.typeAnnotation) : []
    default:
      return []
  }
}

function isDiscriminant(node: ApiNode): boolean {
  const annotation = isNode(node.typeAnnotation) ? node.typeAnnotation.typeAnnotation : null
  return isNode(annotation) && annotation.type === 'TSLiteralType'
}

function memberName(module: Module, node: ApiNode): string {
  return isNode(node.key) ? module.text.slice(node.key.start, node.key.end) : '()'
}

function nameOf(node: unknown): string {
  return isNode(node) ? String(node.name ?? node.value ?? '') : ''
}

function nodesIn(value: unknown): readonly ApiNode[] {
  return Array.isArray(value) ? value.filter(isNode) : []
}

function isNode(value: unknown): value is ApiNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}
