import { setImmediate as shown } from 'node:timers/promises'
import {
  type ElicitationAnswer,
  type ElicitationField,
  type ElicitationRequest,
  fieldValue,
} from '../../acp/host/elicitation.ts'
import type { HostOptions } from '../../acp/host/host-options.ts'
import {
  allowPermission,
  type PermissionOption,
  type PermissionRequest,
  refusePermission,
} from '../../acp/host/permission.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { errorText } from '../../core/error-text.ts'
import { createSerialQueue } from '../../core/wait.ts'
import type { PersonApproval } from '../approval/person-approval.ts'
import { diffLines } from '../approval/question-lines.ts'
import type { Keyboard, KeyStroke } from '../chat/input/keyboard.ts'
import { readLine } from '../chat/input/read-line.ts'
import type { Chat } from '../chat/state/chat-state.ts'
import type { Output } from '../output/output.ts'
import { noteLine } from '../output/print.ts'
import { wrapForTerminal } from '../output/wrap.ts'

type Questions = Required<Pick<HostOptions, 'onPermission' | 'onElicitation' | 'approve'>>

interface QuestionOptions {
  readonly approval: PersonApproval
  /** True with `--allow`. */
  readonly allowsAll: boolean
}

/** What another program's agent asks the person, one question at a time. Without a terminal, requests for
 *  permission are refused unless `--allow` allows them, and forms are declined. */
export function agentQuestions(chat: () => Chat | null, { approval, allowsAll }: QuestionOptions): Questions {
  const oneByOne = createSerialQueue()
  return {
    approve(request, signal) {
      // The text of this error is for the model.
      if (!chat()?.keyboard) throw new Error('no person can be asked here. Do without it')
      return oneByOne(async () => approval.approve(request, signal))
    },
    onPermission: (request, signal) =>
      oneByOne(async () => {
        if (allowsAll) return allowPermission(request, signal)
        const { keyboard = null, context } = chat() ?? {}
        if (!keyboard || !context || request.options.length === 0 || signal.aborted)
          return refusePermission(request, signal)
        // The output before the question has to be on the screen first.
        await shown()
        return keyboard
          .fresh(signal, () => askPermission(request, keyboard, context.err))
          .then(async chosen => chosen ?? refusePermission(request, signal))
      }),
    onElicitation: (request, signal) =>
      oneByOne(async () => {
        const { keyboard = null, context } = chat() ?? {}
        if (!keyboard || !context) return { action: 'decline' }
        if (signal.aborted) return { action: 'cancel' }
        await shown()
        return keyboard.fresh(signal, () => askForm(request, keyboard, context.err))
      }),
  }
}

/** The id of the chosen option; null if none was chosen. */
async function askPermission(
  { title, preview, options }: PermissionRequest,
  keyboard: Keyboard,
  err: Output,
): Promise<string | null> {
  const { style } = err
  const offered = options.slice(0, 9)
  if (preview?.type === 'diff') for (const line of diffLines(preview, err)) err.line(line)
  err.line(wrapForTerminal(`${style.note('?')} ${style.safe(collapseSpaces(title))}`, err))
  const keys = offered.map(({ name }, i) => `${i + 1} ${style.safe(collapseSpaces(name))}`)
  err.line(wrapForTerminal(`  ${[...keys, 'esc refuses'].join(` ${style.symbols.dot} `)}`, err))
  for (;;) {
    const chosen = choiceBy(await keyboard.next(), offered)
    if (chosen === 'none') return null
    if (chosen) return chosen.optionId
  }
}

/** By its number, or y and n to allow or refuse once. Null for any other key. */
function choiceBy(stroke: KeyStroke, offered: readonly PermissionOption[]): PermissionOption | 'none' | null {
  if (stroke.type === 'closed') return 'none'
  if (stroke.type === 'key') return stroke.name === 'escape' ? 'none' : null
  if (stroke.type !== 'text') return null
  const key = stroke.text.toLowerCase()
  const kind = key === 'y' ? 'allow_once' : key === 'n' ? 'reject_once' : null
  if (kind !== null) return offered.find(one => one.kind === kind) ?? null
  return /^[1-9]$/.test(key) ? (offered[Number(key) - 1] ?? null) : null
}

/** Asks for the fields of a form, one after the other. Escape cancels it; Ctrl+C also stops the turn. */
async function askForm(
  request: ElicitationRequest,
  keyboard: Keyboard,
  err: Output,
): Promise<ElicitationAnswer> {
  const { style } = err
  const say = (line: string) => err.line(wrapForTerminal(line, err))
  say(`${style.note('?')} ${style.safe(collapseSpaces(request.message))}`)
  if (request.mode === 'url' || request.fields.length === 0) {
    if (request.mode === 'url') say(`  ${style.safe(request.url)}`)
    say(
      `  ${style.faint(`y ${request.mode === 'url' ? 'opened' : 'yes'} ${style.symbols.dot} n no ${style.symbols.dot} esc cancels`)}`,
    )
    return confirmed(keyboard)
  }
  const content: Record<string, NonNullable<ReturnType<typeof fieldValue>>> = {}
  for (const [i, field] of request.fields.entries()) {
    for (const line of fieldLines(field, `${i + 1}/${request.fields.length}`, err)) say(line)
    for (;;) {
      const read = await readLine({ keyboard, output: err, canEscape: true })
      if (read.type !== 'line') return { action: 'cancel' }
      try {
        const value = fieldValue(field, read.text)
        if (value !== undefined) content[field.name] = value
        break
      } catch (error) {
        say(noteLine(errorText(error), err))
      }
    }
  }
  return { action: 'accept', content }
}

async function confirmed(keyboard: Keyboard): Promise<ElicitationAnswer> {
  for (;;) {
    const stroke = await keyboard.next()
    if (stroke.type === 'closed' || (stroke.type === 'key' && stroke.name === 'escape'))
      return { action: 'cancel' }
    const key = stroke.type === 'text' ? stroke.text.toLowerCase() : ''
    if (key === 'y') return { action: 'accept' }
    if (key === 'n') return { action: 'decline' }
  }
}

/** `2/3 Colour: of the button (optional) [red]`, then the choices with their numbers. */
function fieldLines(field: ElicitationField, count: string, { style }: Output): readonly string[] {
  const { title, description, type, choices, isRequired, suggestion } = field
  const about = description === null ? '' : `: ${collapseSpaces(description)}`
  const what = type === 'switch' ? ' (yes or no)' : type === 'choices' ? ' (several, with commas)' : ''
  const optional = isRequired || suggestion !== null ? '' : ' (optional)'
  const suggested = suggestion === null ? '' : ` [${suggestionText(field)}]`
  return [
    `  ${style.faint(count)} ${style.safe(`${title}${about}${what}${optional}${suggested}`)}`,
    ...choices.map(({ name }, i) => `      ${i + 1} ${style.safe(collapseSpaces(name))}`),
    ...(count.startsWith('1/')
      ? [`  ${style.faint('enter answers · esc cancels'.replace('·', style.symbols.dot))}`]
      : []),
  ]
}

function suggestionText({ suggestion, type }: ElicitationField): string {
  if (type === 'switch') return suggestion === true ? 'yes' : 'no'
  return Array.isArray(suggestion) ? suggestion.join(', ') : String(suggestion)
}
