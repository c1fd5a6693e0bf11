import { NotFoundError } from '../../core/errors.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { plural } from '../output/number.ts'
import { printJson, printNote } from '../output/print.ts'
import { shortenId } from '../output/short-id.ts'
import { tableLines } from '../output/table.ts'
import { tildify } from '../output/tildify.ts'
import { forgetAnswer, type RememberedAnswer, rememberedAnswers } from './remembered-answers.ts'

/** `skein approvals remembered`: the answers that hold for longer than one call. */
export function listRemembered(context: CommandContext): void {
  const { out, env } = context
  const answers = rememberedAnswers(env)
  if (context.json) {
    printJson(context, { remembered: answers.map(one => ({ ...one })) })
    return
  }
  if (answers.length === 0) {
    printNote(context, 'no answer is remembered: every call that changes something is asked for')
    return
  }
  const rows = answers.map(one => [
    one.id,
    out.style.safe(one.scope.replaceAll(/\s+/g, ' ')),
    one.conversation === null ? 'always' : `in ${shortenId(one.conversation)}`,
    out.style.safe(out.isTerminal ? tildify(one.project, env) : one.project),
  ])
  const columns = [
    { header: 'id' },
    { header: 'allowed', shrinksTo: 20 },
    { header: 'how long' },
    { header: 'project', shrinksTo: 12, cutsMiddle: true as const },
  ]
  if (!out.isTerminal) for (const row of rows) out.line(row.join('\t'))
  else
    for (const line of tableLines(rows, columns, out.width, { paintHeader: out.style.faint })) out.line(line)
  printNote(context, 'remove one: skein approvals forget <id>, or all')
}

/** `skein approvals forget <id|all>`: removes remembered answers. */
export function forgetRemembered(text: string, context: CommandContext): void {
  const { env } = context
  const found = chosenAnswers(text, rememberedAnswers(env))
  for (const one of found) forgetAnswer(one, env)
  if (context.json) printJson(context, { forgotten: found.map(({ id }) => id) })
  else printNote(context, `${plural(found.length, 'answer')} forgotten: such calls are asked for again`)
}

function chosenAnswers(text: string, answers: readonly RememberedAnswer[]): readonly RememberedAnswer[] {
  if (text === 'all') return answers
  const found = answers.filter(({ id }) => id.startsWith(text))
  if (found.length === 0) throw new NotFoundError('approval', text)
  if (found.length > 1)
    throw new UsageError(`${text} matches ${found.length} answers`, 'Type more characters')
  return found
}
