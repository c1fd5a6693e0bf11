import { textOf } from '../core/message.ts'
import type { ContextMessage } from '../core/model.ts'

const most = 1_200
const perLine = 160

/** A short account of what was said, made of the first sentence of each thing said. Sentences that state something
 *  (`my name is …`) come first, so that they survive however often a digest is digested. */
export function digestOf(messages: readonly ContextMessage[]): string {
  const lines = messages
    .filter(message => message.role !== 'tool_result')
    .flatMap(message => textOf(message).split('\n'))
    .map(line =>
      line.replace(/^\s*(?:\[[^\]]*\]|[-*•>#]+|(?:user|assistant|system|tool)\s*:)\s*/i, '').trim(),
    )
    .filter(line => line !== '' && !isInstruction(line))
  const sentences = lines.flatMap(line => line.match(/[^.!?]+[.!?]*/g) ?? []).map(one => one.trim())
  const stating = sentences.filter(isStatement)
  const rest = lines.map(firstSentence).filter(one => !stating.includes(one))
  const chosen = [...new Set([...stating, ...rest])].map(one => one.slice(0, perLine))
  if (chosen.length === 0) return 'Nothing has been said yet.'
  const kept: string[] = []
  let length = 0
  for (const line of chosen) {
    if (length + line.length > most) break
    kept.push(line)
    length += line.length + 1
  }
  const left = chosen.length - kept.length
  return `${kept.join(' ')}${left > 0 ? ` (And ${left} more.)` : ''}`
}

/** Was this asked by a summariser, or by a person who wants a summary? */
export function wantsDigest(text: string): boolean {
  return /\bsummar(?:y|ies|i[sz](?:e|ing|ation))\b|\btl;?dr\b|\brecap\b/i.test(text)
}

function isStatement(sentence: string): boolean {
  return /\b(?:my [\p{L} '-]{1,40}? (?:is|are)|call me|remember|must|never|always|decided?|we use)\b/iu.test(
    sentence,
  )
}

function isInstruction(line: string): boolean {
  return wantsDigest(line) && !/^previous conversation summary:?\s+\S/i.test(line)
}

function firstSentence(line: string): string {
  return /^[^.!?]+[.!?]*/.exec(line)?.[0].trim() ?? line
}
