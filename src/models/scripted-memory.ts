import { isKnown } from '../core/block.ts'
import { textOf } from '../core/message.ts'
import type { ContextMessage } from '../core/model.ts'

/** What the scripted model finds in the messages it was given. It has no other memory. */
export interface Memory {
  /** What the user said before the newest message, oldest first. */
  readonly said: readonly string[]
  /** What the assistant said, oldest first. */
  readonly answered: readonly string[]
  /** System texts: the prompt, a summary, notes. */
  readonly told: readonly string[]
  /** Whether a notice or a summary says that more was said than is here. */
  readonly partial: boolean
  /** Messages of the user and the assistant, the newest included. */
  readonly messages: number
  /** What was stated of things: `my <thing> is <value>`, the newest value of each. */
  readonly facts: ReadonlyMap<string, string>
}

/** Reads the context, but for the newest user message. */
export function remember(messages: readonly ContextMessage[]): Memory {
  const newest = messages.findLastIndex(message => message.role === 'user')
  const before = messages.slice(0, Math.max(newest, 0))
  const of = (role: ContextMessage['role']) =>
    before
      .filter(message => message.role === role)
      .map(textOf)
      .filter(text => text.trim() !== '')
  const told = messages.filter(message => message.role === 'system').map(textOf)
  const said = of('user')
  return {
    said,
    answered: of('assistant'),
    told,
    partial: told.some(text => /older messages truncated|^Previous conversation summary/.test(text)),
    messages: messages.filter(message => message.role === 'user' || message.role === 'assistant').length,
    facts: factsOf([...told, ...said]),
  }
}

/** Things that texts state, not ask: `my name is Ada`, `the door code is 4711`, `call me Ada`. Later ones win. */
export function factsOf(texts: readonly string[]): ReadonlyMap<string, string> {
  const facts = new Map<string, string>()
  for (const sentence of texts.flatMap(
    text => text.match(/[^.!?\n;]+(?:[.](?=\w)[^.!?\n;]*)*[.!?]?/g) ?? [],
  )) {
    if (sentence.trimEnd().endsWith('?') || /^\s*(?:what|who|when|where|which|how|why)\b/i.test(sentence))
      continue
    for (const [, thing = '', value = ''] of sentence.matchAll(stated)) facts.set(plain(thing), value.trim())
    const name = /\b(?:call me|i am called|i'm called) ([\p{L}][\p{L}'-]*)/iu.exec(sentence)?.[1]
    if (name !== undefined) facts.set('name', name)
  }
  return facts
}

/** `my <thing> is <value>`; the value ends where something else begins. */
const stated =
  /\b(?:my|our|the) ([\p{L}\d][\p{L}\d '-]{0,39}?) (?:is|are|=) (.{1,120}?)(?=[.!]*$|,|\s+(?:and|but|so)\s+(?:i|my|our|the|you|we|it)\b)/giu

/** A thing as it is looked up. */
export function plain(thing: string): string {
  return thing
    .trim()
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/\bfavorite\b/, 'favourite')
    .replace(/\bcolor\b/, 'colour')
}

/** The results of tools that came after the newest user message, if the conversation stands there. */
export function newResults(
  messages: readonly ContextMessage[],
): readonly { name: string; output: string; failed: boolean }[] {
  const since = messages.slice(
    messages.findLastIndex(message => message.role === 'user' || message.role === 'assistant'),
  )
  const blocks = since.flatMap(message => message.blocks.filter(isKnown))
  const names = new Map(
    messages
      .flatMap(message => message.blocks.filter(isKnown))
      .flatMap(block => (block.type === 'tool_call' ? [[block.callId, block.name] as const] : [])),
  )
  return blocks.flatMap(block => {
    if (block.type !== 'tool_result') return []
    const output = typeof block.output === 'string' ? block.output : JSON.stringify(block.output)
    return [
      { name: block.name ?? names.get(block.callId) ?? 'the tool', output, failed: block.isError === true },
    ]
  })
}
