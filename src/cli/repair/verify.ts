import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { CorruptError, MisconfiguredError } from '../../core/errors.ts'
import type { Verifier } from '../../core/finding.ts'
import { countDependents, type Finding, type Severity, type Verified } from '../../core/finding.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ConversationReader, Lister } from '../../core/ports.ts'
import { type CommandHandler, hasOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { formatInteger, plural } from '../output/number.ts'
import { createProgressBar } from '../output/progress-bar.ts'
import { uniqueShortId } from '../output/short-id.ts'
import { formatDuration } from '../output/time.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { needIdOrTitle } from '../target/find-named.ts'

/** The number of messages that `--quick` verifies. */
const sample = 1_000

/** `skein verify`: checks that everything is as it was stored. Exit 1 if anything is damaged. */
export const verifyCommand: CommandHandler = async (args, context) => {
  try {
    return await withStore(context, store =>
      verifyIn(store, context, args.arguments, hasOption(args, 'quick')),
    )
  } catch (error) {
    if (!isDamage(error)) throw error
    const what = `it cannot be opened: ${error.message}`
    const findings = [{ ...nowhere, severity: 'damage' as const, what }]
    await tell(null, context, { ...nothing, findings: { damage: 1, repairable: 0, note: 0 } }, findings, 0)
    return exitCode.failure
  }
}

async function verifyIn(
  store: ConversationReader & Lister & Verifier,
  context: CommandContext,
  named: readonly string[],
  isQuick: boolean,
): Promise<number> {
  const began = performance.now()
  const conversations: ConversationId[] = []
  for (const text of named) conversations.push((await needIdOrTitle(text, store, context)).conversation.id)
  const findings: Finding[] = []
  const progress = createProgressBar(context, 'checking', 'messages')
  try {
    const verified = await store.verify({
      ...(named.length > 0 && { conversations }),
      ...(isQuick && { sampleSize: sample }),
      signal: context.signal,
      onFinding: finding => findings.push(finding),
      onProgress: ({ messages, total }) => progress.show(messages, total),
    })
    progress.end()
    await tell(store, context, verified, findings, performance.now() - began)
    return verified.findings.damage > 0 ? exitCode.failure : exitCode.ok
  } finally {
    progress.end()
  }
}

async function tell(
  store: ConversationReader | null,
  context: CommandContext,
  verified: Verified,
  findings: readonly Finding[],
  ms: number,
): Promise<void> {
  if (!context.json) return tellFindings(store, context, verified, findings, ms)
  const { messages, erased, conversations, blobs, damaged } = verified
  const of = (severity: Severity) => findings.filter(finding => finding.severity === severity).map(jsonOf)
  context.out.line(
    JSON.stringify({
      checked: messages,
      erased,
      conversations,
      damaged_conversations: damaged,
      blobs,
      counts: { ...verified.findings },
      damaged: of('damage'),
      repairable: of('repairable'),
      notes: of('note'),
    }),
  )
}

function jsonOf(finding: Finding) {
  const { conversation, message, branch, seq, what, before, standing } = finding
  const ranges = standing?.map(({ lo, hi }) => [lo, hi]) ?? null
  return {
    conversation,
    message,
    branch,
    seq,
    reason: what,
    before,
    after: countDependents(finding),
    standing: ranges,
  }
}

/** Whether the store cannot be opened because the file is damaged. Other errors are reported as usual. */
function isDamage(error: unknown): error is Error {
  const isForeign = error instanceof MisconfiguredError && error.part === 'tables'
  return error instanceof CorruptError || isForeign
}

const nowhere = { conversation: null, message: null, branch: null, seq: null, before: null, standing: null }
const nothing = { conversations: 0, messages: 0, erased: 0, blobs: 0, damaged: 0 }

/** The number of findings to print. `--json` prints all. */
const mostListed = 50

/** Prints the findings: first damage, then what can be repaired. Notes are only counted. */
async function tellFindings(
  store: ConversationReader | null,
  context: CommandContext,
  verified: Verified,
  findings: readonly Finding[],
  ms: number,
): Promise<void> {
  const { style } = context.out
  const { dot, ok, failed, note } = style.symbols
  const { messages, erased, conversations, damaged } = verified
  const skein = skeinCommand(context)
  const recover = `${skein} recover`
  const erasedPart = erased > 0 ? ` ${dot} ${formatInteger(erased)} erased on purpose` : ''
  if (!context.quiet && store) {
    const what = `${plural(messages, 'message')} in ${plural(conversations, 'conversation')}`
    context.err.line(`checked ${what}${erasedPart} ${dot} ${formatDuration(ms)}`)
  }
  const { damage, repairable, note: odd } = verified.findings
  if (damage > 0) {
    context.out.line(
      `${style.failed(failed)} ${damage > 0 && damaged > 0 ? damagedLine(verified) : 'the store is damaged'}`,
    )
    await list('damage', damage)
    context.out.line(`  copy the intact part: ${style.id(recover)} ${dot} the file itself is not changed`)
  } else if (!context.quiet) context.out.line(`${style.ok(ok)} no problems found`)
  if (repairable > 0) {
    const what = `${plural(repairable, 'thing')} can be recomputed, no content is lost`
    context.out.line(`${style.note(note)} ${what}. ${style.id(recover)} writes a corrected file`)
    await list('repairable', repairable)
  }
  if (odd > 0 && !context.quiet)
    context.err.line(`${plural(odd, 'note')} that need no action ${dot} ${skein} verify --json lists them`)

  async function list(severity: Finding['severity'], total: number): Promise<void> {
    const listed = findings.filter(finding => finding.severity === severity).slice(0, mostListed)
    for (const finding of listed) {
      context.out.line(`  ${await lineOf(finding)}`)
      const standing = countDependents(finding)
      if (finding.before === null || standing === null) continue
      const depend = standing === 1 ? 'depends' : 'depend'
      context.out.line(
        `          ${plural(finding.before, 'message')} before it, ${formatInteger(standing)} after it ${depend} on it`,
      )
    }
    if (total > listed.length)
      context.out.line(`  and ${formatInteger(total - listed.length)} more: ${skein} verify --json`)
  }

  async function lineOf({ conversation, message, branch, seq, what }: Finding): Promise<string> {
    if (conversation === null || !store) return style.safe(what)
    const title = collapseSpaces(style.safe((await titleOf(store, conversation)) ?? 'untitled'))
    const where =
      branch !== null
        ? `${style.branch(style.safe(branch))}: `
        : message !== null
          ? `${style.id(await uniqueShortId(store, message))}: `
          : seq !== null
            ? `seq ${seq}: `
            : ''
    return `${style.id(await uniqueShortId(store, conversation))}  ${style.title(title)} ${dot} ${where}${style.safe(what)}`
  }
}

function damagedLine({ conversations, damaged }: Verified): string {
  const intact = Math.max(0, conversations - damaged)
  const isOrAre = (count: number) => (count === 1 ? 'is' : 'are')
  return `${plural(damaged, 'conversation')} ${isOrAre(damaged)} damaged, ${formatInteger(intact)} ${isOrAre(intact)} intact`
}

/** Null without a title, and if the conversation cannot be read. */
async function titleOf(store: ConversationReader, id: string): Promise<string | null> {
  try {
    return (await store.getConversation(id as ConversationId)).title
  } catch {
    return null
  }
}
