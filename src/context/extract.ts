import { isKnown } from '../core/block.ts'
import { textOf } from '../core/message.ts'
import type { TextMessage } from './as-text.ts'
import { cutText } from './cut.ts'

/** What the name of the model says where a summary was made without one. */
export const extractive = 'extractive'

/** A summary made of the words themselves: what was asked first and since, what was decided, what was said last, which
 *  tools were used and which files named. For when no model can be had. The same messages give the same text.
 *  Words are quoted on one line each, so that they cannot be taken for anything but quotations. `tokens` is the
 *  most it may have. */
export function extract(
  messages: readonly TextMessage[],
  options: { readonly tokens: number; readonly previous?: string | null },
): string {
  const most = Math.max(200, options.tokens * 4)
  const told = messages.filter(message => !message.erased)
  const asked = linesBy(told, 'user')
  const answered = linesBy(told, 'assistant')
  const previous = options.previous?.trim()
  const first = previous ? 'Then the user asked' : 'The user first asked'
  const parts = [
    previous ? `Before that: ${cutText(previous, Math.floor(most * 0.35))}` : '',
    quoted(first, asked.slice(0, 1), most * 0.12),
    quoted('Later requests', asked.slice(1), most * (previous ? 0.2 : 0.4)),
    quoted('Decisions', decisionsIn(linesBy(told, 'user', 'assistant')), most * 0.12),
    quoted('The assistant said last', answered.slice(-1), most * 0.1),
    counted('Tools used', toolsIn(told), 12),
    counted('Files named', filesIn(told), 16),
  ]
  const head = `(Made of ${messages.length} messages without a model.)`
  return cut([head, ...parts.filter(Boolean)].join('\n'), most)
}

/** What these said, a line for each message. */
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

/** Below this, a quotation is no longer worth its quotes. */
const leastQuoted = 40

/** The newest of these texts that can be quoted within so many characters, each as long as that allows. */
function quoted(title: string, texts: readonly string[], most: number): string {
  if (texts.length === 0) return ''
  const newest = texts.slice(-Math.max(1, Math.floor(most / leastQuoted)))
  const each = evenShare(newest, most)
  return `${title}: ${newest.map(text => `"${cut(text, each).replaceAll('"', "'")}"`).join('; ')}`
}

/** Where texts have to be cut so that all of them together have so many characters: short ones leave their part to
 *  the longer ones. */
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

/** Most frequent first, and in the order of their first use where that is equal. */
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
  return messages.flatMap(({ blocks }) =>
    typeof blocks === 'string'
      ? []
      : blocks.flatMap(block =>
          isKnown(block) && block.type === 'tool_call'
            ? [block.name.replaceAll(/[\s\p{Cc}]+/gu, '_').slice(0, 64)]
            : [],
        ),
  )
}

/** A path with a folder, or a name with an ending that files of code and text have. */
const file =
  /(?<![\w/.@~-])(?:[\w.@~-]*\/)+[\w@-][\w.@-]*\.\w{1,8}\b|(?<![\w/.@~-])[\w-]+\.(?:[cm]?[jt]sx?|py|rs|go|java|rb|php|c|h|cpp|cs|sh|sql|md|txt|json|ya?ml|toml|html|css|csv|lock)\b/g

function filesIn(messages: readonly TextMessage[]): readonly string[] {
  return messages.flatMap(({ blocks }) => {
    if (typeof blocks === 'string') return namedIn(blocks)
    return blocks.flatMap(block => {
      if (!isKnown(block)) return []
      if (block.type === 'text') return namedIn(block.text)
      return block.type === 'tool_call' ? namedIn(JSON.stringify(block.input)) : []
    })
  })
}

/** Long texts are looked at up to here: they are pasted, not said. */
const searched = 20_000

function namedIn(text: string): readonly string[] {
  return [...text.slice(0, searched).matchAll(file)].map(([name]) => name).filter(name => name.length <= 120)
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const end = text.codePointAt(most - 2)! > 0xffff ? most - 2 : most - 1
  return `${text.slice(0, end)}…`
}
