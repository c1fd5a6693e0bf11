import { posix } from 'node:path'
import { importsOf, type Rule, resolve, type SourceFile } from './source.ts'

/** The imports between the files, of values and of types, static and dynamic: path → imported paths. */
function importGraph(files: readonly SourceFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const known = new Set(files.map(({ path }) => path))
  return new Map(
    files.map(file => {
      const targets = importsOf(file).map(({ from }) => (from === null ? null : resolve(file, from)))
      return [file.path, new Set(targets.filter(target => target !== null && known.has(target)))]
    }),
  ) as ReadonlyMap<string, ReadonlySet<string>>
}

/** Folders of `src/` do not import each other in a circle. A folder is the files directly in it, so a folder
 *  and its subfolder count as two. One fault for each pair of folders that import each other; for a longer
 *  circle without such a pair, one fault that lists its folders. */
export const folderCycles: Rule = files => {
  const edges = folderEdges(files.filter(({ path }) => path.startsWith('src/')))
  return circles(edges).flatMap(circle => {
    const pairs = circle.flatMap(a =>
      circle.filter(b => a < b && edges.get(a)?.has(b) && edges.get(b)?.has(a)).map(b => `${a} ⇄ ${b}`),
    )
    return pairs.length > 0 ? pairs : [circle.join(' → ')]
  })
}

function folderEdges(files: readonly SourceFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const edges = new Map<string, Set<string>>()
  for (const [path, targets] of importGraph(files)) {
    const from = posix.dirname(path)
    const into = edges.get(from) ?? new Set()
    edges.set(from, into)
    for (const target of targets) if (posix.dirname(target) !== from) into.add(posix.dirname(target))
  }
  return edges
}

/** The groups of two and more nodes that all reach each other, each group and its nodes in alphabetical
 *  order. */
function circles(edges: ReadonlyMap<string, ReadonlySet<string>>): readonly (readonly string[])[] {
  const nodes = [...edges.keys()].sort()
  const reached = new Map(nodes.map(node => [node, reachableFrom(node, edges)]))
  const groups = nodes.map(node =>
    nodes.filter(other => reached.get(node)!.has(other) && reached.get(other)!.has(node)),
  )
  return groups.filter((group, index) => group.length > 1 && group[0] === nodes[index])
}

function reachableFrom(start: string, edges: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const found = new Set<string>()
  const open = [...(edges.get(start) ?? [])]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue
    found.add(next)
    open.push(...(edges.get(next) ?? []))
  }
  return found
}

/** How many files of `src/` exist for a single reader. */
export interface OneImporterShare {
  /** Between 0 and 1. */
  readonly share: number
  /** The files, each with its only importer and both numbers of lines, the shortest first. */
  readonly list: readonly string[]
}

/** The share of files that exactly one other file imports. Imports by an `index.ts` do not count: it lists
 *  what a folder offers. */
export function oneImporterShare(all: readonly SourceFile[]): OneImporterShare {
  const files = all.filter(({ path }) => path.startsWith('src/'))
  const importers = new Map<string, string[]>()
  for (const [path, targets] of importGraph(files)) {
    if (posix.basename(path) === 'index.ts') continue
    for (const target of targets) importers.set(target, [...(importers.get(target) ?? []), path])
  }
  const linesOf = new Map(files.map(({ path, text }) => [path, text.split('\n').length - 1]))
  const single = files.flatMap(({ path }) => {
    const [only, ...more] = importers.get(path) ?? []
    return only === undefined || more.length > 0 ? [] : [{ path, only }]
  })
  const list = single
    .sort((a, b) => linesOf.get(a.path)! - linesOf.get(b.path)!)
    .map(({ path, only }) => `${path} (${linesOf.get(path)}) ← ${only} (${linesOf.get(only)})`)
  return { share: single.length / Math.max(1, files.length), list }
}

/** Folders of `test/` that need no server, so that `npm run unit -- test/core` takes seconds. */
const quick = ['config', 'context', 'core', 'formats', 'models', 'system']

/** Tests of the quick folders do not import what starts PostgreSQL, directly or through other files. */
export const quickTests: Rule = files => {
  const graph = importGraph(files)
  return files
    .filter(({ path }) => quick.some(folder => path.startsWith(`test/${folder}/`)))
    .filter(({ path }) => reachableFrom(path, graph).has('test/support/postgres-url.ts'))
    .map(({ path }) => `${path}: uses PostgreSQL`)
}
