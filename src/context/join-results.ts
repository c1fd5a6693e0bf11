import type { Block, ToolResultBlock } from '../core/block.ts'
import { type MissingReason, missingResult } from './missing.ts'
import type { Call, Shown } from './pairs.ts'

/** The results that one answer gets. */
export interface Joined {
  readonly blocks: readonly Block[]
  /** The places in the path that they come from, in order. */
  readonly sources: readonly number[]
  /** The stored count, if these are all that those messages hold. */
  readonly tokens: number | null
}

/** The results of one answer's calls in the order of the calls, from wherever they were stored. Each carries the
 *  id and the name of its call. */
export function joinResults(
  path: readonly Shown[],
  made: readonly Call[],
  reasonOf: (call: Call) => MissingReason,
): Joined {
  const blocks: Block[] = []
  const sources: number[] = []
  let isStored = true
  for (const call of made) {
    const { answer } = call
    if (!answer) isStored = false
    else if (!sources.includes(answer.at)) sources.push(answer.at)
    blocks.push(answer ? answering(answer.block, call) : missingResult(call, reasonOf(call)))
  }
  let tokens = 0
  let held = 0
  for (const at of sources) {
    const { message, blocks: shown } = path[at]!
    tokens += message.tokens
    held += shown.length
    if (shown !== message.blocks) isStored = false
  }
  return {
    blocks,
    sources: sources.sort((a, b) => a - b),
    tokens: isStored && held === blocks.length ? tokens : null,
  }
}

function answering(result: ToolResultBlock, { id, block: { name } }: Call): ToolResultBlock {
  return result.callId === id && result.name === name ? result : { ...result, callId: id, name }
}

/** A result whose call is nowhere, told as text. */
export function loneResult({ name, output }: ToolResultBlock): Block {
  const words = typeof output === 'string' ? output : JSON.stringify(output)
  const tool = name === undefined ? '' : ` of ${name.toWellFormed()}`
  return { type: 'text', text: `[result${tool}, whose call is not in the conversation]\n${words}` }
}
