import { approvalJson } from '../../api/approval.ts'
import type { ApprovalAnswer, ApprovalKeeper, StoredApproval } from '../../core/approval.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { NotFoundError } from '../../core/errors.ts'
import { type Args, type CommandHandler, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { printJson, printNote } from '../output/print.ts'
import { shortenId } from '../output/short-id.ts'
import { tableLines } from '../output/table.ts'
import { withStore } from '../store/with-store.ts'
import { forgetRemembered, listRemembered } from './remembered-command.ts'

const answers: Readonly<Record<string, ApprovalAnswer>> = { approve: 'allow', deny: 'deny' }

/** `skein approvals [verb] [id]`: the calls that wait for an approval, and the answers that are remembered.
 *  An answer is stored once; the turn continues in the program that resumes it. */
export const approvalsCommand: CommandHandler = (args, context) => {
  const [action = 'ls', text] = args.arguments
  if (action === 'remembered' || action === 'forget') return rememberedVerb(action, text, context)
  const answer = answers[action]
  if (answer === undefined && action !== 'ls')
    throw new UsageError(
      `approvals has no verb ${action}`,
      'skein approvals ls, approve, deny, remembered or forget',
    )
  if (answer !== undefined && text === undefined)
    throw new UsageError(`${action} needs the id of an approval`, 'skein approvals')
  return withStore(context, async store => {
    const waiting = await store.listApprovals()
    if (answer === undefined) list(waiting, context)
    else await settle(store, find(waiting, text!), answer, args, context)
    return exitCode.ok
  })
}

async function rememberedVerb(
  action: 'remembered' | 'forget',
  text: string | undefined,
  context: CommandContext,
): Promise<number> {
  if (action === 'remembered') listRemembered(context)
  else if (text === undefined)
    throw new UsageError('forget needs an id, or all', 'skein approvals remembered')
  else forgetRemembered(text, context)
  return exitCode.ok
}

function list(waiting: readonly StoredApproval[], context: CommandContext): void {
  const { out } = context
  if (context.json) {
    printJson(context, { approvals: waiting.map(approvalJson) })
    return
  }
  if (waiting.length === 0) {
    if (!context.quiet) context.err.line('no call waits for an approval')
    return
  }
  const rows = waiting.map(({ id, title, reason, conversationId, askedAt }) => [
    shortenId(id),
    out.style.safe(collapseSpaces(reason === null ? title : `${title} (${reason})`)),
    shortenId(conversationId),
    askedAt.toISOString().slice(0, 16).replace('T', ' '),
  ])
  const columns = [{ header: 'id' }, { header: 'call', shrinksTo: 20 }, { header: 'in' }, { header: 'since' }]
  for (const line of tableLines(rows, columns, out.width)) out.line(line)
}

function find(waiting: readonly StoredApproval[], text: string): StoredApproval {
  const found = waiting.filter(({ id }) => id.startsWith(text))
  if (found.length === 0) throw new NotFoundError('approval', text)
  if (found.length > 1)
    throw new UsageError(`${text} matches ${found.length} approvals`, 'Type more characters')
  return found[0]!
}

async function settle(
  store: ApprovalKeeper,
  { conversationId, id, title }: StoredApproval,
  answer: ApprovalAnswer,
  args: Args,
  context: CommandContext,
): Promise<void> {
  const comment = textOption(args, 'reason') ?? null
  const by = context.env.USER ?? null
  const stored = await store.answerApproval(conversationId, id, { answer, comment, by })
  if (context.json) return printJson(context, approvalJson(stored))
  const { style } = context.err
  const done = answer === 'deny' ? 'denied' : 'approved'
  printNote(context, `${done}: ${style.safe(title)}`)
  const rest = (await store.listApprovals({ conversationId })).length
  if (rest > 0) printNote(context, `${rest} more of this conversation: skein approvals`)
  else
    printNote(
      context,
      `the turn continues when its program resumes it: skein resume ${shortenId(conversationId)}`,
    )
}
