import { changedLines } from '../../agent/approval/changed-lines.ts'
import type { ApprovalAnswer, ApprovalRequest, CallPreview } from '../../core/approval.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { cut, widthOf } from '../output/cut.ts'
import { plural } from '../output/number.ts'
import type { Output } from '../output/output.ts'
import { wrap } from '../output/wrap.ts'

/** Most lines of a change that a question shows. */
const mostLines = 24

const answerKeys: readonly (readonly [ApprovalAnswer, string])[] = [
  ['allow', 'y once'],
  ['allow_in_conversation', 'c in this conversation'],
  ['allow_always', 'a always here'],
  ['deny', 'n no'],
]

/** Whether a question has this answer. A call with a reason, such as a file outside of the project, is never
 *  allowed for always. */
export function offersAnswer({ reason }: ApprovalRequest, answer: ApprovalAnswer): boolean {
  return answer !== 'allow_always' || reason === null
}

/** The question before a call: the change that it makes, if it is known, then one line with the call and the
 *  keys. The cursor waits behind the last line. */
export function questionLines(request: ApprovalRequest, output: Output): readonly string[] {
  const { style, width } = output
  const { title, reason, preview } = request
  const dot = style.symbols.dot
  const keys = answerKeys
    .filter(([answer]) => offersAnswer(request, answer))
    .map(([, key]) => key)
    .join(` ${dot} `)
  const why = reason === null ? '' : ` (${style.safe(reason)})`
  const room = Math.max(20, width - 3 - widthOf(why))
  const about = `${cut(style.safe(collapseSpaces(title)), room, style.symbols.dots)}${why}`
  // Nothing is allowed that the person has not seen.
  const hidesCommand = widthOf(collapseSpaces(title)) > room || title.includes('\n')
  const question = `${style.note('?')} ${about}`
  const isShort = widthOf(about) + widthOf(keys) + 8 <= width
  return [
    ...(preview?.type === 'diff' ? diffLines(preview, output) : []),
    ...(preview?.type === 'command' && hidesCommand ? commandLines(preview.command, output) : []),
    ...(isShort
      ? [`${question}  ${style.faint(keys)}`]
      : [question, ...wrap(keys, Math.max(20, width - 8)).map(row => `  ${style.faint(row)}`)]),
  ]
}

/** The whole command, if the question has no room for it. */
function commandLines(command: string, { style, width }: Output): readonly string[] {
  const rows = command.split('\n').flatMap(line => wrap(style.safe(line), Math.max(20, width - 5)))
  return rows.map(row => `    ${row}`)
}

/** The lines that a change adds and removes. */
export function diffLines(
  preview: Extract<CallPreview, { type: 'diff' }>,
  { style, width }: Output,
): readonly string[] {
  const changes = changedLines(preview.oldText, preview.newText)
  const lines = changes.slice(0, mostLines).map(({ sign, text, line }) => {
    const shown = cut(
      `${String(line).padStart(5)} ${sign} ${style.safe(text)}`,
      width - 2,
      style.symbols.dots,
    )
    return `  ${sign === '+' ? style.ok(shown) : sign === '-' ? style.failed(shown) : style.faint(shown)}`
  })
  const more = changes.length - mostLines
  return more > 0
    ? [...lines, `  ${style.faint(`${style.symbols.dots} ${plural(more, 'more line')}`)}`]
    : lines
}
