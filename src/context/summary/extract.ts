import { asBlocks, isKnown } from '../../core/block.ts'
import { textOf } from '../../core/message.ts'
import { shortenMiddle } from '../fit/cut.ts'
import type { TextMessage } from '../text/as-text.ts'

/** The model name of a summary that was made without a model. */
export const extractive = 'extractive'

/** A summary made of quotations, for when no model is available: the first and later requests, decisions, the
 *  last answer, the tools used and the files named. The same messages give the same text. Each quotation is
 *  on one line, so that it cannot be mistaken for anything else. `tokens` is the upper limit. */
export function extract(
  messages: readonly TextMessage[],
  options: { readonly tokens: number; readonly previous?: string | null },
): string {
  const most = Math.max(200, options.tokens * 4)
  const remaining = messages.filter(message => !message.erased)
  const asked = linesBy(remaining, 'user')
  const answered = linesBy(remaining, 'assistant')
  const previous = options.previous?.trim()
  const first = previous ? 'Then the user asked' : 'The user first asked'
  const parts = [
    previous ? `Before that: ${shortenMiddle(previous, Math.floor(most * 0.35))}` : '',
    quoted(first, asked.slice(0, 1), most * 0.12),
    quoted('Later requests', asked.slice(1), most * (previous ? 0.2 : 0.4)),
    quoted('Decisions', decisionsIn(linesBy(remaining, 'user', 'assistant')), most * 0.12),
    quoted('The assistant said last', answered.slice(-1), most * 0.1),
    counted('Tools used', toolsIn(remaining), 12),
    counted('Files named', filesIn(remaining), 16),
  ]
  const head = `(Made of ${messages.length} messages without a model.)`
  return cut([head, ...parts.filter(Boolean)].join('\n'), most)
}

/** The texts of these roles, one line per message. */
function linesBy(messages: readonly TextMessage[], ...roles: readonly string[]): readonly string[] {
  return messages
    .filter(({ role }) => roles.includes(role))
    .map(message =>
      textOf(message)
        .replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
        .trim(),
    )
    .filter(Boolean)
}

/** The shortest useful quotation. */
const leastQuoted = 40

/** Quotes the newest of these texts within `most` characters, each as long as that allows. */
function quoted(title: string, texts: readonly string[], most: number): string {
  if (texts.length === 0) return ''
  const newest = texts.slice(-Math.max(1, Math.floor(most / leastQuoted)))
  const each = evenShare(newest, most)
  return `${title}: ${newest.map(text => `"${cut(text, each).replaceAll('"', "'")}"`).join('; ')}`
}

/** The length to cut texts to, so that all of them together have `most` characters: short texts leave their
 *  share to longer ones. */
function evenShare(texts: readonly string[], most: number): number {
  const lengths = texts.map(text => text.length).sort((a, b) => a - b)
  let left = most
  for (const [i, length] of lengths.entries()) {
    const share = left / (lengths.length - i)
    if (length > share) return Math.max(leastQuoted, Math.floor(share))
    left -= length
  }
  return Number.POSITIVE_INFINITY
}

/** The most frequent first; equal ones in the order of their first use. */
function counted(title: string, names: readonly string[], most: number): string {
  const times = new Map<string, number>()
  for (const name of names) times.set(name, (times.get(name) ?? 0) + 1)
  const sorted = [...times].sort(([, a], [, b]) => b - a).slice(0, most)
  const shown = sorted.map(([name, count]) => (count > 1 ? `${name} (${count}×)` : name))
  return shown.length === 0 ? '' : `${title}: ${shown.join(', ')}`
}

const deciding =
  /\b(?:decid\w+|decision|agreed?|instead of|let's|we(?:'ll| will)|must(?: not)?|never|always|conclusion|the (?:plan|fix|cause) is|turned? out)\b/i

function decisionsIn(texts: readonly string[]): readonly string[] {
  const sentences = texts.flatMap(text => text.split(/(?<=[.!?。！？])\s+/))
  return [...new Set(sentences.filter(sentence => sentence.length <= 400 && deciding.test(sentence)))]
}

function toolsIn(messages: readonly TextMessage[]): readonly string[] {
  return messages.flatMap(({ content }) =>
    asBlocks(content).flatMap(block =>
      block.type === 'tool_call' ? [block.name.replaceAll(/[\s\p{Cc}]+/gu, '_').slice(0, 64)] : [],
    ),
  )
}

/** A path with a folder, or a name with a common extension of source and text files. */
const file =
  /(?<![\w/.@~-])(?:[\w.@~-]*\/)+[\w@-][\w.@-]*\.\w{1,8}\b|(?<![\w/.@~-])[\w-]+\.(?:[cm]?[jt]sx?|py|rs|go|java|rb|php|c|h|cpp|cs|sh|sql|md|txt|json|ya?ml|toml|html|css|csv|lock)\b/g

function filesIn(messages: readonly TextMessage[]): readonly string[] {
  return messages.flatMap(({ content: blocks }) => {
    if (typeof blocks === 'string') return namedIn(blocks)
    return blocks.flatMap(block => {
      if (!isKnown(block)) return []
      if (block.type === 'text') return namedIn(block.text)
      return block.type === 'tool_call' ? namedIn(JSON.stringify(block.input)) : []
    })
  })
}

/** Only the beginning of long texts is searched: they are pasted. */
const searched = 20_000

function namedIn(text: string): readonly string[] {
  return [...text.slice(0, searched).matchAll(file)].map(([name]) => name).filter(name => name.length <= 120)
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const end = text.codePointAt(most - 2)! > 0xffff ? most - 2 : most - 1
  return `${text.slice(0, end)}…`
}
