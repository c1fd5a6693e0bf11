import type { ContextMessage } from '../core/model.ts'
import type { CountTokens, Pinned } from './fitted.ts'

/** What stands before the messages, counted. */
export interface Pins {
  /** Tokens of all parts, the notice apart. */
  readonly tokens: number
  readonly parts: { system: number; notes: number; summary: number; overhead: number }
  /** Tokens of a notice. */
  notice(text: string): number
  /** In this order: the system prompt, notes, the summary, the notice if so many messages are missing. */
  messages(missing: number): readonly ContextMessage[]
}

/** The words of S2-43. */
export function noticeText(messages: number): string {
  return `[Note: ${messages} older messages truncated to stay within token limit]`
}

/** The words of S2-39. */
function summaryText(summary: string): string {
  return `Previous conversation summary: ${summary}`
}

export function pin({ system, notes = [], summary, overhead = 0 }: Pinned, count: CountTokens): Pins {
  const prompt = said([system ?? ''])
  const noted = said(notes)
  const summed = said(summary ? [summaryText(summary.text)] : [])
  const parts = {
    system: tokensOf(prompt, count),
    notes: tokensOf(noted, count),
    summary: tokensOf(summed, count),
    overhead,
  }
  return {
    tokens: parts.system + parts.notes + parts.summary + overhead,
    parts,
    notice: text => tokensOf(said([text]), count),
    messages: missing => [...prompt, ...noted, ...summed, ...said(missing > 0 ? [noticeText(missing)] : [])],
  }
}

/** Blank texts are left out: providers refuse them. */
function said(texts: readonly string[]): readonly ContextMessage[] {
  return texts
    .filter(text => /\S/.test(text))
    .map(text => ({ role: 'system', blocks: [{ type: 'text', text: text.toWellFormed() }] }))
}

function tokensOf(messages: readonly ContextMessage[], count: CountTokens): number {
  return messages.reduce((sum, { blocks }) => sum + count(blocks), 0)
}
