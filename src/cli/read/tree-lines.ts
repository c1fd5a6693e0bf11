import type { Message } from '../../core/message.ts'
import type { Stretch } from '../../core/runs.ts'
import { byActivity, type Tree, walkForest } from '../../core/tree.ts'
import { cut, widthOf } from '../output/cut.ts'
import { gistOf } from '../output/gist.ts'
import type { Style } from '../output/style.ts'
import { formatTime } from '../output/time.ts'

/** However deep a line stands, so much of what was said is seen. */
const shortestSnippet = 12

export interface TreeOptions {
  readonly width: number
  readonly style: Style
  /** Ids as they are printed. */
  readonly short: ReadonlyMap<string, string>
}

/** The lines of trees of messages (S3-60 … S3-64): children 4 spaces further in, `------` where a branch ends, the
 *  most recently active last. */
export function* treeLines(forest: readonly Tree<Message>[], look: TreeOptions): Generator<string> {
  for (const { tree, depth } of walkForest(byActivity(forest))) {
    yield messageLine(tree.node, depth, look)
    if (tree.children.length === 0) yield endLine(depth, look)
  }
}

/** A stretch without a fork, with its two ends. */
interface FoldedStretch {
  readonly id: string
  readonly parentId: string | null
  readonly seq: number
  readonly createdAt: Date
  readonly messages: number
  readonly first: Message
  readonly last: Message
}

/** Stretches that make a tree: each hangs on the one that its parent ends. */
export function foldStretches(
  runs: readonly Stretch[],
  messages: ReadonlyMap<string, Message>,
): readonly FoldedStretch[] {
  return runs.flatMap(run => {
    const first = messages.get(run.first)
    const last = messages.get(run.last)
    if (!first || !last) return []
    // Named by its end, since that is what others hang on.
    const { parent: parentId, firstSeq: seq, messages: count } = run
    return [{ id: run.last, parentId, seq, createdAt: run.endedAt, messages: count, first, last }]
  })
}

/** The same with every stretch folded to its ends: one further in for each line. */
export function* compactLines(forest: readonly Tree<FoldedStretch>[], look: TreeOptions): Generator<string> {
  const depths = new Map<string, number>()
  for (const { tree } of walkForest(byActivity(forest))) {
    const { node, children } = tree
    let depth = node.parentId === null ? 0 : (depths.get(node.parentId) ?? -1) + 1
    yield messageLine(node.first, depth, look)
    const between = node.messages - 2
    if (between > 0) {
      const words = between === 1 ? '1 message' : `${between} messages`
      yield ' '.repeat(4 * ++depth) + look.style.faint(`... ${words} ...`)
    }
    if (node.messages > 1) yield messageLine(node.last, ++depth, look)
    depths.set(node.id, depth)
    if (children.length === 0) yield endLine(depth, look)
  }
}

function messageLine(message: Message, depth: number, { width, style, short }: TreeOptions): string {
  const indent = ' '.repeat(4 * depth)
  const id = short.get(message.id) ?? message.id
  const time = `(${formatTime(message.createdAt)})`
  const role = `[${message.role.toUpperCase()}]`
  const room = width - widthOf(`${indent}${id} ${time} ${role} `)
  // Tabs and line breaks are folded by the gist, so no line is broken by what is in it.
  const snippet = cut(style.safe(gistOf(message)), Math.max(shortestSnippet, room), '...')
  const painted = message.role === 'user' ? style.title(role) : role
  return `${indent}${style.id(id)} ${style.faint(time)} ${painted} ${snippet}`
}

function endLine(depth: number, { style }: TreeOptions): string {
  return ' '.repeat(4 * depth) + style.faint('------')
}
