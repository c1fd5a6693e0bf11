import { gistOf } from '../../core/gist.ts'
import type { Message } from '../../core/message.ts'
import type { Stretch } from '../../core/runs.ts'
import { byActivity, type Tree, walkForest } from '../../core/tree.ts'
import { cut, widthOf } from '../output/cut.ts'
import type { Style } from '../output/style.ts'
import { formatTime } from '../output/time.ts'

/** The minimum width of a snippet, however deep the line is indented. */
const shortestSnippet = 12

export interface TreeOptions {
  readonly width: number
  readonly style: Style
  /** The ids to print. */
  readonly short: ReadonlyMap<string, string>
}

/** What a tree shows of a message. A conversation may be larger than the memory, so no content is kept. */
export interface TreeMessage
  extends Pick<Message, 'id' | 'parentId' | 'conversationId' | 'seq' | 'role' | 'createdAt' | 'label'> {
  /** The content in one line. */
  readonly gist: string
}

/** The lines of message trees (S3-60 … S3-64): children are indented by 4 spaces, `------` ends a branch, the
 *  most recently active branch is last. */
export function* treeLines(forest: readonly Tree<TreeMessage>[], look: TreeOptions): Generator<string> {
  for (const { tree, depth } of walkForest(byActivity(forest))) {
    yield messageLine(tree.node, depth, look)
    if (tree.children.length === 0) yield endLine(depth, look)
  }
}

/** The same for people: only branches are indented. At a fork, the branch that was active last continues at
 *  the indentation of the fork, and the others are one level deeper. So a conversation without forks has no
 *  indentation, and one with many retries has little. */
export function* branchLines(forest: readonly Tree<TreeMessage>[], look: TreeOptions): Generator<string> {
  // Deeper branches have the same indentation, so that there is room for the text.
  const mostLevels = Math.max(1, Math.floor(look.width / 12))
  const waiting = byActivity(forest)
    .map(tree => ({ tree, level: 0 }))
    .reverse()
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { tree, level } = next
    yield shortLine(tree.node, level, look)
    if (tree.children.length === 0) yield endLine(level, look)
    const deeper = Math.min(level + 1, mostLevels)
    for (const [i, child] of tree.children.toReversed().entries())
      waiting.push({ tree: child, level: i === 0 ? level : deeper })
  }
}

/** `longest` is the number of characters of the gist to keep. */
export function treeMessage(message: Message, longest = Number.POSITIVE_INFINITY): TreeMessage {
  const { id, parentId, conversationId, seq, role, createdAt, label } = message
  const whole = gistOf(message)
  // A part of a text would keep the whole in memory.
  const gist = whole.length > longest ? Buffer.from(whole.slice(0, longest)).toString() : whole
  return { id, parentId, conversationId, seq, role, createdAt, label, gist }
}

/** A stretch without a fork, with its first and last message. */
interface FoldedStretch {
  readonly id: string
  readonly parentId: string | null
  readonly seq: number
  readonly createdAt: Date
  readonly messages: number
  readonly first: TreeMessage
  readonly last: TreeMessage
}

/** The stretches as a tree: the parent of each is the stretch that ends with its parent message. */
export function foldStretches(
  runs: readonly Stretch[],
  messages: ReadonlyMap<string, TreeMessage>,
): readonly FoldedStretch[] {
  return runs.flatMap(run => {
    const first = messages.get(run.first)
    const last = messages.get(run.last)
    if (!first || !last) return []
    // Identified by its last message, which its children refer to.
    const { parent: parentId, firstSeq: seq, messages: count } = run
    return [{ id: run.last, parentId, seq, createdAt: run.endedAt, messages: count, first, last }]
  })
}

/** The same, with each stretch reduced to its first and last message. Each line is indented one level
 *  further. */
export function* compactLines(forest: readonly Tree<FoldedStretch>[], look: TreeOptions): Generator<string> {
  const depths = new Map<string, number>()
  for (const { tree } of walkForest(byActivity(forest))) {
    const { node, children } = tree
    let depth = node.parentId === null ? 0 : (depths.get(node.parentId) ?? -1) + 1
    yield shortLine(node.first, depth, look)
    const between = node.messages - 2
    if (between > 0) {
      const words = between === 1 ? '1 message' : `${between} messages`
      yield ' '.repeat(4 * ++depth) + look.style.faint(`... ${words} ...`)
    }
    if (node.messages > 1) yield shortLine(node.last, ++depth, look)
    depths.set(node.id, depth)
    if (children.length === 0) yield endLine(depth, look)
  }
}

function messageLine(message: TreeMessage, depth: number, look: TreeOptions): string {
  return lineWith(`(${formatTime(message.createdAt)}) `, message, depth, look)
}

/** Without the time where it would leave no room for the words. */
function shortLine(message: TreeMessage, depth: number, look: TreeOptions): string {
  const line = messageLine(message, depth, look)
  return widthOf(line) <= look.width ? line : lineWith('', message, depth, look)
}

function lineWith(
  time: string,
  message: TreeMessage,
  depth: number,
  { width, style, short }: TreeOptions,
): string {
  const indent = ' '.repeat(4 * depth)
  const id = short.get(message.id) ?? message.id
  const role = `[${message.role.toUpperCase()}]`
  const room = width - widthOf(`${indent}${id} ${time}${role} `)
  // The gist has no tabs and no line breaks.
  const snippet = cut(style.safe(message.gist), Math.max(shortestSnippet, room), '...')
  const painted = message.role === 'user' ? style.title(role) : role
  return `${indent}${style.id(id)} ${time && style.faint(time)}${painted} ${snippet}`
}

function endLine(depth: number, { style }: TreeOptions): string {
  return ' '.repeat(4 * depth) + style.faint('------')
}
