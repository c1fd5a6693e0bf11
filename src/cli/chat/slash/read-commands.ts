import type { ReadContext } from '../../../context/read-context.ts'
import { modelName } from '../../../core/model-name.ts'
import { unsavedIn } from '../../../recorder/waiting-turns.ts'
import type { Args, CommandHandler } from '../../command-line/command.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { bar } from '../../output/bar.ts'
import { padEnd, padStart } from '../../output/cut.ts'
import { formatCount, plural } from '../../output/number.ts'
import type { Output } from '../../output/output.ts'
import { shortenId } from '../../output/short-id.ts'
import { wrapForTerminal } from '../../output/wrap.ts'
import { searchCommand } from '../../read/search.ts'
import { showCommand } from '../../read/show.ts'
import { treeCommand } from '../../read/tree.ts'
import { type Chat, type NextStep, nextLine } from '../state/chat-state.ts'
import { currentPosition, type SlashCommand } from './slash-command.ts'

interface InsideChat {
  readonly argument: string
  readonly options?: Args['options']
  /** What the command does with messages. It reads the store, so it leaves out what waits to be saved. */
  readonly verb: 'searched' | 'shown'
}

/** Runs a command of the command line inside a chat. It may start its own pager. */
async function runCommand(
  { context, controller, keyboard, note }: Chat,
  run: CommandHandler,
  { argument, options = {}, verb }: InsideChat,
): Promise<NextStep> {
  const command = () => run({ arguments: [argument], options }, context)
  await (keyboard ? keyboard.lend(command) : command())
  const unsaved = controller.store ? unsavedIn(controller.store).messages.length : 0
  if (unsaved > 0) note(`not ${verb}: ${plural(unsaved, 'message')} not saved yet`)
  return nextLine
}

export const slashHistory: SlashCommand = {
  name: 'history',
  help: 'the conversation so far',
  async run(chat) {
    const { conversation, branch, head, isPlanned } = await currentPosition(chat)
    if (isPlanned && head === null) {
      chat.note('there are no messages here yet')
      return nextLine
    }
    return runCommand(chat, showCommand, {
      argument: head ?? `${conversation.id}:${branch.name}`,
      verb: 'shown',
    })
  },
}

export const slashTree: SlashCommand = {
  name: 'tree',
  help: 'all branches of this conversation',
  async run(chat) {
    const { conversation } = await currentPosition(chat)
    return runCommand(chat, treeCommand, { argument: conversation.id, verb: 'shown' })
  },
}

export const slashSearch: SlashCommand = {
  name: 'search',
  argument: '[--all] <words>',
  needs: 'nothing',
  help: 'find anything said in this project, or everywhere',
  async run(chat, argument) {
    const all = /^--all(\s+|$)/.test(argument)
    const words = argument.replace(/^--all\s*/, '')
    if (chat.controller.store === null) throw new UsageError('incognito: nothing is opened')
    if (words === '') throw new UsageError('/search needs words', '/search certificate')
    return runCommand(chat, searchCommand, {
      argument: words,
      options: all ? { all: true } : {},
      verb: 'searched',
    })
  },
}

export const slashContext: SlashCommand = {
  name: 'context',
  argument: '[model]',
  of: 'our model',
  help: 'what the next call sees',
  async run(chat, name) {
    const { context, controller } = chat
    const next = (await controller.context(name === '' ? undefined : name))!
    const { out } = context
    for (const line of contextLines(next.read, modelName(next.model), out))
      out.line(wrapForTerminal(line, out))
    return nextLine
  },
}

/** The width of the longest bar. */
const barCells = 16

/** What the next call sends, in a sentence and then in figures: pinned, summary, kept, left out. */
function contextLines(
  { fitted, summary, messages, older }: ReadContext,
  model: string,
  { style, width }: Pick<Output, 'style' | 'width'>,
): readonly string[] {
  const { tokens, left } = fitted
  const kept = fitted.messages.filter(({ id }) => id !== undefined)
  const covered = Math.max(0, messages.length + older - kept.length - leftOut())
  const first = kept[0]?.id
  const pinned = tokens.system + tokens.notes + tokens.overhead
  const limit = tokens.budget
  const percent = Math.round((100 * tokens.total) / limit)
  const most = Math.max(1, pinned, tokens.summary, tokens.messages)
  // A narrow terminal gets no bars.
  const barOf = (n: number) => (width < 72 ? '' : padEnd(visibleBar(n / most, style.unicode), barCells + 2))
  const row = (name: string, n: number, what: string) =>
    `  ${padEnd(name, 9)}${width < 72 ? '' : '  '}${barOf(n)}${padStart(formatCount(n), 6)}  ${what}`.trimEnd()
  const from = first === undefined ? '' : `, from ${style.id(shortenId(first))} on`
  return [
    `what the next call sees: ${formatCount(tokens.total)} of ${formatCount(limit)} (${percent}%), ${style.safe(model)}`,
    row('pinned', pinned, pinnedText(tokens)),
    row('summary', tokens.summary, summary ? `replaces ${plural(covered, 'message')}` : 'none'),
    row('kept', tokens.messages, `${plural(kept.length, 'message')} word for word${from}`),
    row(
      'left out',
      tokensLeft(),
      `${plural(leftOut(), 'message')} ${style.symbols.dot} all are kept in the store`,
    ),
  ]

  function leftOut(): number {
    const counted = left.reduce((sum, one) => sum + (one.reason === 'summarised' ? 0 : one.messages), 0)
    return counted + (summary ? 0 : older)
  }

  function tokensLeft(): number {
    return left.reduce((sum, one) => sum + (one.reason === 'summarised' ? 0 : one.tokens), 0)
  }
}

/** `system prompt, tools` */
function pinnedText({ system, overhead }: ReadContext['fitted']['tokens']): string {
  if (system === 0) return overhead > 0 ? 'tools, no system prompt' : 'no system prompt'
  return overhead > 0 ? 'system prompt, tools' : 'system prompt'
}

/** A share above zero gets at least the smallest visible bar. */
function visibleBar(share: number, unicode: boolean): string {
  const least = 1 / (unicode ? barCells * 8 : barCells)
  return share <= 0 ? '' : bar(Math.max(share, least), barCells, unicode)
}
