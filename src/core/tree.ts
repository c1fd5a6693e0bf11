import { checkList } from './check.ts'
import { NotFoundError } from './errors.ts'

/** `skein/tree`: the tree of a conversation, from messages or any nodes with an id and a parent.
 *  `listStretches` of a store gives the shape of a large conversation without its messages. */
export type { SaveItem } from './ports.ts'
export type { Stretch } from './runs.ts'

/** The fields that these functions need. A parent has a lower seq than its children. */
export interface TreeNode {
  /** Unique among the nodes. */
  readonly id: string
  /** The id of the parent. Null, or an id that is not in the list, makes the node a root. */
  readonly parentId: string | null
  /** Orders siblings. Higher than the seq of the parent. */
  readonly seq: number
}

/** A node and everything below it. The depth is unlimited: use `walkForest`, not recursion. */
export interface Tree<T> {
  /** The node as it was given. */
  readonly node: T
  /** The nodes below it, in order of seq. */
  readonly children: readonly Tree<T>[]
}

interface Growing<T> extends Tree<T> {
  readonly children: Growing<T>[]
}

/** Builds the trees of a flat list in any order. Roots and children are in order of seq. A node whose
 *  parent is not in the list becomes a root, so a part of a conversation loses nothing.
 *
 * @example
 * ```ts
 * import { openStore, textOf } from 'skein'
 * import { buildForest, walkForest } from 'skein/tree'
 *
 * await using store = await openStore(':memory:')
 * const { conversation } = await store.create()
 * await store.save(conversation.id, [
 *   { message: { role: 'user', content: 'Name a colour.' }, parent: null },
 *   { message: { role: 'assistant', content: 'Red.' }, parent: { item: 0 } },
 *   { message: { role: 'assistant', content: 'Blue.' }, parent: { item: 0 } },
 * ])
 *
 * const { items } = await store.listMessages({ conversationId: conversation.id })
 * for (const { tree, depth } of walkForest(buildForest(items)))
 *   console.log(`${'--'.repeat(depth)}${textOf(tree.node)}`)
 * // Name a colour.
 * // --Red.
 * // --Blue.
 * ```
 */
export function buildForest<T extends TreeNode>(nodes: readonly T[]): readonly Tree<T>[] {
  checkList(nodes, 'nodes', 'a list of messages')
  const roots: Growing<T>[] = []
  const trees = new Map<string, Growing<T>>()
  for (const node of inOrder(nodes)) {
    const tree: Growing<T> = { node, children: [] }
    const parent = node.parentId === null ? undefined : trees.get(node.parentId)
    const siblings = parent ? parent.children : roots
    siblings.push(tree)
    trees.set(node.id, tree)
  }
  return roots
}

/** Visits every tree before its children, and children in order. */
export function* walkForest<T>(
  forest: readonly Tree<T>[],
): Generator<{ readonly tree: Tree<T>; readonly depth: number }> {
  checkList(forest, 'forest', 'the result of buildForest()')
  const waiting = forest.map(tree => ({ tree, depth: 0 })).reverse()
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    yield next
    const { children } = next.tree
    for (let i = children.length - 1; i >= 0; i--) waiting.push({ tree: children[i]!, depth: next.depth + 1 })
  }
}

/** Sorts trees and branches by their newest message, the most recently active last, at the bottom of a
 *  terminal. */
export function byActivity<T extends TreeNode & { readonly createdAt: Date }>(
  forest: readonly Tree<T>[],
): readonly Tree<T>[] {
  const sorted = new Map<Tree<T>, { readonly tree: Tree<T>; readonly newest: T }>()
  const sort = (trees: readonly Tree<T>[]) =>
    trees.map(tree => sorted.get(tree)!).sort((a, b) => compareTimes(a.newest, b.newest))
  // In reverse order, every child precedes its parent.
  for (const { tree } of [...walkForest(forest)].reverse()) {
    const children = sort(tree.children)
    const last = children.at(-1)?.newest
    const newest = last && compareTimes(last, tree.node) > 0 ? last : tree.node
    sorted.set(tree, { tree: { node: tree.node, children: children.map(child => child.tree) }, newest })
  }
  return sort(forest).map(entry => entry.tree)
}

/** From the root to this node. Throws NotFoundError. */
export function pathTo<T extends TreeNode>(nodes: readonly T[], id: string): readonly T[] {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const path: T[] = []
  for (let node: T | undefined = find(byId, id); node; node = above(byId, node)) path.push(node)
  return path.reverse()
}

/** This node and everything below it, in order of seq. Throws NotFoundError. */
export function subtreeOf<T extends TreeNode>(nodes: readonly T[], id: string): readonly T[] {
  const within = new Set<string>()
  const subtree = inOrder(nodes).filter(node => {
    const belongs = node.id === id || (node.parentId !== null && within.has(node.parentId))
    if (belongs) within.add(node.id)
    return belongs
  })
  if (subtree.length === 0) throw new NotFoundError('message', id)
  return subtree
}

/** The children of this node in order of seq, or the roots for null. */
export function childrenOf<T extends TreeNode>(nodes: readonly T[], id: string | null): readonly T[] {
  return inOrder(nodes.filter(node => node.parentId === id))
}

function inOrder<T extends TreeNode>(nodes: readonly T[]): T[] {
  return nodes.toSorted((a, b) => a.seq - b.seq)
}

function find<T>(byId: ReadonlyMap<string, T>, id: string): T {
  const node = byId.get(id)
  if (!node) throw new NotFoundError('message', id)
  return node
}

/** The parent, if it is in the list and precedes its child. Prevents endless loops in inconsistent
 *  lists. */
function above<T extends TreeNode>(byId: ReadonlyMap<string, T>, node: T): T | undefined {
  const parent = node.parentId === null ? undefined : byId.get(node.parentId)
  return parent && parent.seq < node.seq ? parent : undefined
}

/** By time; within one millisecond by seq, and between conversations by id. */
function compareTimes(
  a: TreeNode & { readonly createdAt: Date },
  b: TreeNode & { readonly createdAt: Date },
): number {
  const time = a.createdAt.getTime() - b.createdAt.getTime()
  return time || a.seq - b.seq || (a.id < b.id ? -1 : 1)
}
