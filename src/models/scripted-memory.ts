import { type Block, isKnown } from '../core/block.ts'
import { textOf } from '../core/message.ts'
import type { ContextMessage } from '../core/model.ts'

/** The facts that the scripted model finds in the messages of the context. It has no other memory. */
export interface ScriptedMemory {
  /** What the user said before the newest message, oldest first. */
  readonly said: readonly string[]
  /** What the assistant said, oldest first. */
  readonly answered: readonly string[]
  /** System texts: the prompt, a summary, notes. */
  readonly told: readonly string[]
  /** Whether a notice or a summary says that messages are missing. */
  readonly partial: boolean
  /** Messages of the user and the assistant, the newest included. */
  readonly messages: number
  /** Statements of the form `my <thing> is <value>`, with the newest value of each thing. */
  readonly facts: ReadonlyMap<string, string>
}

/** Reads the context, except for the newest user message. */
export function readMemory(messages: readonly ContextMessage[]): ScriptedMemory {
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

/** Statements in texts, not questions: `my name is Ada`, `the door code is 4711`, `call me Ada`, `hello, I am
 *  Ada`. Later ones replace earlier ones. */
export function factsOf(texts: readonly string[]): ReadonlyMap<string, string> {
  const facts = new Map<string, string>()
  for (const sentence of texts.flatMap(
    text => text.match(/[^.!?\n;]+(?:[.](?=\w)[^.!?\n;]*)*[.!?]?/g) ?? [],
  )) {
    if (sentence.trimEnd().endsWith('?') || /^\s*(?:what|who|when|where|which|how|why)\b/i.test(sentence))
      continue
    for (const [, thing = '', value = ''] of sentence.matchAll(stated))
      facts.set(normalizedThing(thing), value.trim())
    const name = (/\b(?:call me|i am called|i'm called) (\p{L}[\p{L}'-]*)/iu.exec(sentence) ??
      introduced.exec(sentence))?.[1]
    if (name !== undefined) facts.set('name', name)
  }
  return facts
}

/** `my <thing> is <value>`; the value ends at the next clause. */
const stated =
  /\b(?:my|our|the) ([\p{L}\d][\p{L}\d '-]{0,39}?) (?:is|are|=) (.{1,120}?)(?=[.!]*$|,|\s+(?:and|but|so)\s+(?:i|my|our|the|you|we|it)\b)/giu

/** `I am Ada` at the beginning, perhaps after a greeting. The capital tells a name from `I am tired`. */
const introduced =
  /^\s*(?:(?:[Hh]i|[Hh]ello|[Hh]ey)(?: there)?[,!]? )?[Ii](?: am|['’]m) (\p{Lu}[\p{L}'-]*)(?=[.!,]|\s*$|\s+(?:and|from|here)\b)/u

/** The form in which things are compared. */
export function normalizedThing(thing: string): string {
  return thing
    .trim()
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/\bfavorite\b/, 'favourite')
    .replace(/\bcolor\b/, 'colour')
}

/** The tool results at the end of the context, after the newest message of the user or assistant. */
export function newResults(
  messages: readonly ContextMessage[],
): readonly { name: string; output: string; failed: boolean }[] {
  const since = messages.slice(
    messages.findLastIndex(message => message.role === 'user' || message.role === 'assistant'),
  )
  const blocks = since.flatMap(message => message.content.filter(isKnown))
  const names = new Map(
    messages
      .flatMap(message => message.content.filter(isKnown))
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

/** A history in one text, as agents of other programs get it: see `asText`. The text for a summary has
 *  another opening, and does not match. */
const historyText =
  /<conversation_history>\n.*\nYou should treat this as context you already know.*\n(?:.+\n)*\n([\s\S]*?)\n<\/conversation_history>\s*/

/** Replaces histories that are texts in a message by their messages, so that the model knows them like other
 *  messages. */
export function withHistories(messages: readonly ContextMessage[]): readonly ContextMessage[] {
  return messages.flatMap(message => {
    if (message.role !== 'user' && message.role !== 'system') return [message]
    const told: ContextMessage[] = []
    const blocks = message.content.flatMap((block): readonly Block[] => {
      if (block.type !== 'text') return [block]
      const { text } = block
      const lines = historyText.exec(text)?.[1]
      if (lines === undefined) return [block]
      told.push(...historyMessages(lines))
      const rest = text.replace(historyText, '')
      return rest === '' ? [] : [{ ...block, text: rest }]
    })
    return blocks.length === 0 ? told : [...told, { ...message, content: blocks }]
  })
}

function historyMessages(lines: string): readonly ContextMessage[] {
  return lines.split(/\n(?=(?:User|Assistant|System|Tool): )/).flatMap(line => {
    const [, who, text] = /^(User|Assistant): ([\s\S]*)$/.exec(line) ?? []
    if (text === undefined) return []
    return [{ role: who === 'User' ? 'user' : 'assistant', content: [{ type: 'text', text }] } as const]
  })
}

const perLine = 160

/** A summary: the rest of its line, or the line after it. */
const previous = /^[ \t]*previous conversation summary:?[ \t]*\n?(.*)$/im

/** The end of a digest. */
const more = /\(And \d+ more\.\)/g

/** Labels of roles, and list markers. */
const label = /^\s*(?:\\|\[[^\]]*\]|[-*•>#]+|(?:user|assistant|system|tool)\s*:)\s*/i

/** A short digest of the messages, made of the first sentence of each, in at most `most` characters.
 *  Statements (`my name is …`) come first, so that they survive repeated digests. */
export function digestOf(messages: readonly ContextMessage[], most = 1_200): string {
  const lines = messages
    .filter(isSaid)
    .map(message =>
      textOf(message).replace(previous, (_, summary: string) => sentencesOf(summary).join('\n')),
    )
    .flatMap(text => text.split('\n'))
    .map(line => line.replace(label, '').replace(more, '').trim())
    .filter(line => line !== '' && !isInstruction(line))
  const stating = lines.flatMap(sentencesOf).filter(isStatement)
  const rest = lines.map(firstSentence).filter(one => !stating.includes(one))
  const chosen = [...new Set([...stating, ...rest].map(ended))]
  if (chosen.length === 0) return 'Nothing has been said yet.'
  const kept: string[] = []
  let length = 0
  for (const line of chosen) {
    if (length + line.length > most - 20) break
    kept.push(line)
    length += line.length + 1
  }
  const left = chosen.length - kept.length
  return `${kept.join(' ')}${left > 0 ? ` (And ${left} more.)` : ''}`
}

/** Messages of the user, and summaries of the system. */
function isSaid(message: ContextMessage): boolean {
  return message.role === 'user' || (message.role === 'system' && previous.test(textOf(message)))
}

/** Whether a text asks for a summary. */
export function wantsDigest(text: string): boolean {
  return /\bsummar(?:y|ies|i[sz](?:e|ed|ing|ation))\b|\btl;?dr\b|\brecap\b/i.test(text)
}

function isStatement(sentence: string): boolean {
  if (sentence.endsWith('?')) return false
  return /\b(?:my [\p{L} '-]{1,40}? (?:is|are)|call me|remember|must|never|always|decided?|we use)\b/iu.test(
    sentence,
  )
}

/** Fences, and instructions for the summary. */
function isInstruction(line: string): boolean {
  return (
    /^<\/?[\w-]+>$/.test(line) ||
    wantsDigest(line) ||
    /^the following is (?:a part of )?(?:a|the|our) /i.test(line)
  )
}

/** Shortens a sentence, and ends it with a mark, so that the next digest finds the same sentences. */
function ended(sentence: string): string {
  const short = sentence.slice(0, perLine)
  return /[.!?]$/.test(short) ? short : `${short}.`
}

function sentencesOf(text: string): readonly string[] {
  return (text.match(/[^.!?]+[.!?]*/g) ?? []).map(one => one.trim())
}

function firstSentence(line: string): string {
  return sentencesOf(line)[0] ?? line
}
