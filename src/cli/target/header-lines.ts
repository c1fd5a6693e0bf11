import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { withoutMarkup } from '../../core/without-markup.ts'
import { cut, widthOf } from '../output/cut.ts'
import { formatInteger, plural } from '../output/number.ts'
import type { Output } from '../output/output.ts'
import { noteLine } from '../output/print.ts'
import { shortenId } from '../output/short-id.ts'
import { formatAge } from '../output/time.ts'
import type { BranchStatus } from './branch-status.ts'
import type { ChosenConversation } from './choose-conversation.ts'

/** After this time, the user may want a new conversation. */
const longAgoMs = 12 * 3_600_000

export interface HeaderOptions {
  readonly now: number
  /** The path of a new store, on the first run only. */
  readonly keptIn?: string | null
  /** The name of the branch, if it has been created. */
  readonly branch?: string
}

/** The header: which conversation is continued, before the model is called. */
export function headerLines(
  chosen: ChosenConversation,
  output: Output,
  options: HeaderOptions,
): readonly string[] {
  const lines = headLines(chosen, output, options)
  const notes = [
    ...chosen.notes,
    ...(chosen.how === 'continued' ? unansweredNotes(chosen.status?.unanswered ?? 0) : []),
  ]
  return [...lines, ...notes.map(note => noteLine(note, output))]
}

/** They are part of the next context: nothing else would say so. */
function unansweredNotes(count: number): readonly string[] {
  if (count === 0) return []
  return count === 1
    ? ['your last message has no answer yet: it is sent along']
    : [`your last ${count} messages have no answer yet: they are sent along`]
}

function headLines(chosen: ChosenConversation, output: Output, options: HeaderOptions): readonly string[] {
  const { style } = output
  const dot = ` ${style.symbols.dot} `
  const kept = options.keptIn ? `${dot}kept in ${style.safe(options.keptIn)}` : ''
  switch (chosen.how) {
    case 'incognito':
      return ['incognito: nothing is opened, nothing is kept']
    case 'new':
      return [`new conversation${kept}`]
    case 'fresh':
      return [`fresh: nothing to continue${kept}`]
    case 'forked': {
      const { at, answers } = chosen.fork!
      const place = at === null ? 'the beginning' : style.id(shortenId(at))
      const { branch } = options
      const had = answers === 0 ? '' : ` (it already has ${plural(answers, 'answer')})`
      return branch === undefined
        ? [`your next message forks at ${place}${had}`]
        : [`forked at ${place} as ${style.branch(style.safe(branch))}${had.replace(' has ', ' had ')}`]
    }
    case 'continued':
      return continuedLines(chosen.status!, output, options.now)
    default:
      return chosen.how satisfies never
  }
}

/** The title and the last message: one alone is not enough to recognize a conversation. */
function continuedLines(status: BranchStatus, output: Output, now: number): readonly string[] {
  const { style, width } = output
  const { dot, dots } = style.symbols
  const { conversation, branch, messages, last } = status
  const count = width < 64 ? formatInteger(messages) : plural(messages, 'message')
  const tail = ` ${dot} ${style.safe(branch.name)} ${dot} ${count}`
  const room = Math.max(12, width - widthOf(`continuing ""${tail}`))
  const title = cut(collapseSpaces(style.safe(conversation.title ?? 'without a title')), room, dots)
  const head = `continuing "${style.title(title)}" ${dot} ${style.branch(style.safe(branch.name))} ${dot} ${count}`
  if (!last) return [head]
  const wayOut = now - last.at.getTime() >= longAgoMs ? '   (-n for new)' : ''
  const when = whenOf(last.at, now)
  const words = cut(
    collapseSpaces(style.safe(withoutMarkup(last.text))),
    Math.max(12, width - widthOf(`  ${when}: ${wayOut}`)),
    dots,
  )
  return [head, `  ${when}: ${words}${style.faint(wayOut)}`]
}

function whenOf(date: Date, now: number): string {
  const text = formatAge(date, now)
  return /^\d+[mhd]$/.test(text) ? `${text} ago` : text
}
