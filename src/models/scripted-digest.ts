import { textOf } from '../core/message.ts'
import type { ContextMessage } from '../core/model.ts'

const perLine = 160

/** A summary, wherever it comes from: the rest of its line, or the line after it. */
const previous = /^[ \t]*previous conversation summary:?[ \t]*\n?(.*)$/im

/** What a digest says at its end. */
const more = /\(And \d+ more\.\)/g

/** Who is speaking, and signs of lists. */
const label = /^\s*(?:\\|\[[^\]]*\]|[-*•>#]+|(?:user|assistant|system|tool)\s*:)\s*/i

/** A short account of what was said, made of the first sentence of each thing said, in as many characters as asked for.
 *  Sentences that state something (`my name is …`) come first, so that they survive however often a digest is digested. */
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

/** What the user said, and of the system only summaries: the rest follows from it. */
function isSaid(message: ContextMessage): boolean {
  return message.role === 'user' || (message.role === 'system' && previous.test(textOf(message)))
}

/** Was this asked by a summariser, or by a person who wants a summary? */
export function wantsDigest(text: string): boolean {
  return /\bsummar(?:y|ies|i[sz](?:e|ed|ing|ation))\b|\btl;?dr\b|\brecap\b/i.test(text)
}

function isStatement(sentence: string): boolean {
  if (sentence.endsWith('?')) return false
  return /\b(?:my [\p{L} '-]{1,40}? (?:is|are)|call me|remember|must|never|always|decided?|we use)\b/iu.test(
    sentence,
  )
}

/** Fences, and what is said to whoever summarises. */
function isInstruction(line: string): boolean {
  return (
    /^<\/?[\w-]+>$/.test(line) ||
    wantsDigest(line) ||
    /^the following is (?:a part of )?(?:a|the|our) /i.test(line)
  )
}

/** Short, and with a mark at its end, so that the next digest finds the same sentences. */
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
