import type {
  JSONValue,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider'
import {
  type Block,
  isKnown,
  type KnownBlock,
  type MediaBlock,
  type OtherBlock,
  type ToolResultBlock,
  type UnknownBlock,
} from '../core/block.ts'
import { InvalidError } from '../core/errors.ts'
import { isPlainObject } from '../core/json.ts'
import { textOf } from '../core/message.ts'
import type { ContextMessage, ModelRequest } from '../core/model.ts'
import { type CallIds, callIds, type ToolNames } from './accepted-names.ts'
import type { Dialect } from './dialect.ts'
import { isReasoningFile } from './file-block.ts'
import { mediaPart, titleOf } from './media.ts'
import { ownOptions } from './metadata.ts'
import { type AnswerPart, providerPart } from './provider-part.ts'
import { toolOutput } from './tool-output.ts'

type Of<R extends LanguageModelV4Message['role']> = Extract<LanguageModelV4Message, { role: R }>
type UserPart = Of<'user'>['content'][number]
type ResultPart = Extract<Of<'tool'>['content'][number], { type: 'tool-result' }>

/** Consecutive messages of one side. Tool results precede text, because providers require them directly after
 *  the calls. */
type Side =
  | { readonly by: 'assistant'; readonly parts: AnswerPart[] }
  | { readonly by: 'user'; readonly results: ResultPart[]; readonly said: (Of<'user'> | Of<'system'>)[] }

/** A context as the prompt of a language model, in a form that the dialect's provider accepts: system texts
 *  first, then the user and the assistant alternately, beginning and ending with the user, every result
 *  directly after its call, and nothing empty. Content that the provider does not accept is described in
 *  text; unknown blocks are skipped. */
export function promptOf(
  request: ModelRequest,
  dialect: Dialect,
  names: ToolNames,
  model: string,
): LanguageModelV4Prompt {
  const { messages } = request
  if (messages.length === 0) throw new InvalidError('messages', 'there is nothing to send')
  const first = messages.findIndex(message => message.role !== 'system')
  const leading = first === -1 ? messages : messages.slice(0, first)
  const rest = first === -1 ? [] : messages.slice(first)
  const write = writer(dialect, names, callIds(), model, currentTurn(rest))
  const sides = alternating(rest, write)
  if (sides[0]?.by !== 'user') sides.unshift(words('(The conversation begins here.)'))
  if (sides.at(-1)?.by !== 'user') sides.push(words('(Please continue.)'))
  return marked([...systemOf(leading, dialect), ...sides.flatMap(side => messagesOf(side, dialect))], dialect)
}

function systemOf(messages: readonly ContextMessage[], dialect: Dialect): Of<'system'>[] {
  const texts = messages.map(textOf).filter(isFilled)
  if (!dialect.oneText || texts.length === 0) return texts.map(content => ({ role: 'system', content }))
  return [{ role: 'system', content: texts.join('\n\n') }]
}

function alternating(messages: readonly ContextMessage[], write: Writer): Side[] {
  const sides: Side[] = []
  const side = <B extends Side['by']>(by: B): Extract<Side, { by: B }> => {
    if (sides.at(-1)?.by !== by)
      sides.push(by === 'user' ? { by, results: [], said: [] } : { by: 'assistant', parts: [] })
    return sides.at(-1) as Extract<Side, { by: B }>
  }
  for (const message of messages) {
    if (message.role === 'assistant') {
      const parts = message.content.flatMap(write.answerPart)
      if (parts.length > 0) side('assistant').parts.push(...parts)
    }
    const results = message.content.filter(isResult)
    for (const block of results) {
      const { part, beside } = write.result(block)
      side('user').results.push(part)
      if (beside.length > 0) side('user').said.push({ role: 'user', content: [...beside] })
    }
    if (message.role === 'user' || message.role === 'tool_result') {
      const content = message.content.flatMap(write.userPart)
      const isSilent = content.length === 0 && message.role === 'user' && results.length === 0
      if (isSilent) side('user').said.push({ role: 'user', content: [{ type: 'text', text: '(no words)' }] })
      else if (content.length > 0) side('user').said.push({ role: 'user', content })
    }
    if (message.role === 'system' && isFilled(textOf(message)))
      side('user').said.push(write.laterSystem(textOf(message)))
  }
  return sides
}

interface Writer {
  answerPart(block: Block): AnswerPart[]
  userPart(block: Block): UserPart[]
  result(block: ToolResultBlock): { readonly part: ResultPart; readonly beside: readonly UserPart[] }
  laterSystem(text: string): Of<'user'> | Of<'system'>
}

function writer(
  dialect: Dialect,
  names: ToolNames,
  ids: CallIds,
  model: string,
  current: ReadonlySet<Block>,
): Writer {
  const called = new Map<string, string>()
  const ownOf = (block: Block) => {
    const own = ownOptions(block.metadata, dialect, model)
    return own === undefined ? {} : { providerOptions: own }
  }
  const goesBack = (block: Block): boolean => {
    if (dialect.thinking === 'loose') return block.metadata === undefined && current.has(block)
    const isOwn = 'providerOptions' in ownOf(block)
    const by = isPlainObject(block.metadata) ? block.metadata.model : undefined
    return isOwn && (dialect.thinking === 'own' || by === undefined || by === model)
  }
  /** Blocks of a provider's own tools are sent back to that provider only. */
  const ofProvider = (block: UnknownBlock): AnswerPart[] => {
    const own = ownOf(block)
    const part = 'providerOptions' in own ? providerPart(block, own, jsonOf) : null
    return part === null ? [] : [part]
  }
  /** Media of reasoning are sent back like other thinking, and are not described to other providers. */
  const reasoningFile = (block: MediaBlock): AnswerPart[] => {
    if (!goesBack(block) || !dialect.mediaInAnswers || block.data === undefined) return []
    const data = { type: 'data', data: block.data } as const
    return [{ type: 'reasoning-file', mediaType: block.mime, data, ...ownOf(block) }]
  }
  return {
    answerPart(block) {
      if (!isKnown(block)) return ofProvider(block)
      switch (block.type) {
        case 'text':
          return isFilled(block.text) || signed(block, dialect, model)
            ? [{ type: 'text', text: block.text, ...ownOf(block) }]
            : []
        case 'thinking':
          return goesBack(block) ? [{ type: 'reasoning', text: block.text, ...ownOf(block) }] : []
        case 'tool_call': {
          called.set(block.callId, block.name)
          const input = isPlainObject(block.input) ? block.input : { input: block.input }
          const call = { toolCallId: ids.ofCall(block.callId), toolName: names.toProvider(block.name), input }
          return [{ type: 'tool-call', ...call, ...ownOf(block) }]
        }
        case 'tool_result':
          return []
        default:
          if (isReasoningFile(block)) return reasoningFile(block)
          if (!dialect.mediaInAnswers || block.data === undefined)
            return [{ type: 'text', text: `[${titleOf(block)}]` }]
          return [{ ...mediaPart(block, dialect), ...ownOf(block) }]
      }
    },
    userPart(block) {
      if (!isKnown(block)) return []
      if (block.type === 'text') return isFilled(block.text) ? [{ type: 'text', text: block.text }] : []
      if (block.type === 'thinking' || block.type === 'tool_call' || block.type === 'tool_result') return []
      return [mediaPart(block, dialect)]
    },
    result(block) {
      const toolName = names.toProvider(block.name ?? called.get(block.callId) ?? 'unknown')
      const { output, beside } = toolOutput(block, dialect)
      return {
        part: { type: 'tool-result', toolCallId: ids.ofResult(block.callId), toolName, output },
        beside,
      }
    },
    laterSystem(text) {
      if (dialect.laterSystem) return { role: 'system', content: text }
      return { role: 'user', content: [{ type: 'text', text: `[A message of the system:]\n${text}` }] }
    },
  }
}

/** Provider clients accept results of the provider's own tools only as JSON. */
function jsonOf({ output, isError }: OtherBlock): LanguageModelV4ToolResultOutput {
  return { type: isError === true ? 'error-json' : 'json', value: (output ?? null) as JSONValue }
}

function messagesOf(side: Side, dialect: Dialect): LanguageModelV4Prompt {
  if (side.by === 'assistant')
    return [{ role: 'assistant', content: dialect.oneText ? joined(side.parts) : side.parts }]
  const results: LanguageModelV4Prompt =
    side.results.length > 0 ? [{ role: 'tool', content: side.results }] : []
  const said: LanguageModelV4Prompt = []
  for (const message of side.said) {
    const last = said.at(-1)
    if (message.role !== 'user' || last?.role !== 'user') said.push(message)
    else said.splice(-1, 1, { role: 'user', content: [...last.content, ...message.content] })
  }
  if (!dialect.oneText) return [...results, ...said]
  return [
    ...results,
    ...said.map(one => (one.role === 'user' ? { ...one, content: joined(one.content) } : one)),
  ]
}

/** Joins adjacent texts, unless the provider wants them back separately. */
function joined<P extends { readonly type: string }>(parts: readonly P[]): P[] {
  const all: P[] = []
  for (const part of parts) {
    const last = all.at(-1)
    if (isText(part) && isText(last)) all.splice(-1, 1, { ...last, text: `${last.text}\n\n${part.text}` })
    else all.push(part)
  }
  return all
}

function isText<P extends { readonly type: string }>(
  part: P | undefined,
): part is P & { readonly text: string } {
  return part?.type === 'text' && !('providerOptions' in part)
}

function marked(prompt: LanguageModelV4Prompt, { cacheMark }: Dialect): LanguageModelV4Prompt {
  if (cacheMark === undefined) return prompt
  const system = prompt.findIndex(message => message.role !== 'system') - 1
  return prompt.map((message, at) =>
    at === system || at === prompt.length - 1 ? { ...message, providerOptions: cacheMark } : message,
  )
}

/** The blocks after the last message of the user. */
function currentTurn(messages: readonly ContextMessage[]): ReadonlySet<Block> {
  const spoke = messages.findLastIndex(message => message.role === 'user' && !message.content.some(isResult))
  return new Set(messages.slice(spoke + 1).flatMap(message => message.content))
}

function words(text: string): Side {
  return { by: 'user', results: [], said: [{ role: 'user', content: [{ type: 'text', text }] }] }
}

function isResult(block: Block): block is ToolResultBlock {
  return block.type === 'tool_result' && isKnown(block)
}

function isFilled(text: string): boolean {
  return text.trim() !== ''
}

/** Google signs empty texts, and wants them back. */
function signed(block: KnownBlock, dialect: Dialect, model: string): boolean {
  const own = ownOptions(block.metadata, dialect, model) ?? {}
  return Object.values(own).some(facts => facts.thoughtSignature !== undefined)
}
