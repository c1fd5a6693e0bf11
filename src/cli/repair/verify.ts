import { CorruptError, SkeinError } from '../../core/errors.ts'
import { countDependents, type Finding, type Severity, type Verified } from '../../core/finding.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ConversationReader, Verifier } from '../../core/ports.ts'
import { hasOption, type Run } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { folded } from '../output/cut.ts'
import { plural, whole } from '../output/number.ts'
import { progressLine } from '../output/progress-line.ts'
import { shortIdIn } from '../output/short-id.ts'
import { duration } from '../output/time.ts'
import { withStore } from '../store/with-store.ts'

/** How many messages a quick check looks at. */
const sample = 1_000

/** Checks that everything is as it was stored. Exit 1 if something is damaged. */
export const verify: Run = async (given, world) => {
  try {
    return await withStore(world, store => verifyIn(store, world, given.arguments, hasOption(given, 'quick')))
  } catch (error) {
    if (!isDamage(error)) throw error
    const what = `it cannot be opened: ${error.message}`
    const findings = [{ ...nowhere, severity: 'damage' as const, what }]
    await tell(null, world, { ...nothing, findings: { damage: 1, repairable: 0, note: 0 } }, findings, 0)
    return exit.failure
  }
}

async function verifyIn(
  store: ConversationReader & Verifier,
  world: World,
  named: readonly string[],
  isQuick: boolean,
): Promise<number> {
  const began = performance.now()
  const conversations: ConversationId[] = []
  for (const text of named) conversations.push((await store.resolve(text)).conversation.id)
  const findings: Finding[] = []
  const progress = progressLine(world, 'checking', 'messages')
  try {
    const verified = await store.verify({
      ...(named.length > 0 && { conversations }),
      ...(isQuick && { newest: sample }),
      signal: world.signal,
      onFinding: finding => findings.push(finding),
      onProgress: ({ messages, total }) => progress.show(messages, total),
    })
    progress.end()
    await tell(store, world, verified, findings, performance.now() - began)
    return verified.findings.damage > 0 ? exit.failure : exit.ok
  } finally {
    progress.end()
  }
}

async function tell(
  store: ConversationReader | null,
  world: World,
  verified: Verified,
  findings: readonly Finding[],
  ms: number,
): Promise<void> {
  if (!world.json) return tellFindings(store, world, verified, findings, ms)
  const { messages, erased, conversations, blobs, damaged } = verified
  const of = (severity: Severity) => findings.filter(finding => finding.severity === severity).map(jsonOf)
  world.out.line(
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

/** Whether the store cannot be opened because of what lies there; anything else has its own name and next step. */
function isDamage(error: unknown): error is Error {
  if (error instanceof SkeinError) return error instanceof CorruptError
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_')
}

const nowhere = { conversation: null, message: null, branch: null, seq: null, before: null, standing: null }
const nothing = { conversations: 0, messages: 0, erased: 0, blobs: 0, damaged: 0 }

/** How many are named to people; programs are told all. */
const mostListed = 50

/** What was found, for people: what is damaged first, then what can be repaired; what is only odd is counted. */
async function tellFindings(
  store: ConversationReader | null,
  world: World,
  verified: Verified,
  findings: readonly Finding[],
  ms: number,
): Promise<void> {
  const { style } = world.out
  const { dot, ok, failed, note } = style.symbols
  const { messages, erased, conversations, damaged } = verified
  const erasedPart = erased > 0 ? ` ${dot} ${whole(erased)} erased on purpose` : ''
  if (!world.quiet && store) {
    const what = `${plural(messages, 'message')} in ${plural(conversations, 'conversation')}`
    world.err.line(`checked ${what}${erasedPart} ${dot} ${duration(ms)}`)
  }
  const { damage, repairable, note: odd } = verified.findings
  if (damage > 0) {
    world.out.line(
      `${style.failed(failed)} ${damage > 0 && damaged > 0 ? damagedLine(verified) : 'the store is damaged'}`,
    )
    await list('damage', damage)
    world.out.line(`  save what is sound: ${style.id('skein recover')} ${dot} the file itself is left alone`)
  } else if (!world.quiet) world.out.line(`${style.ok(ok)} all are sound`)
  if (repairable > 0) {
    const what = `${plural(repairable, 'thing')} can be computed anew, no words are lost`
    world.out.line(
      `${style.note(note)} ${what}. ${style.id('skein recover')} writes a file where they are right`,
    )
    await list('repairable', repairable)
  }
  if (odd > 0 && !world.quiet)
    world.err.line(`${plural(odd, 'thing')} odd but lawful ${dot} skein verify --json has them`)

  async function list(severity: Finding['severity'], total: number): Promise<void> {
    const listed = findings.filter(finding => finding.severity === severity).slice(0, mostListed)
    for (const finding of listed) {
      world.out.line(`  ${await lineOf(finding)}`)
      const standing = countDependents(finding)
      if (finding.before === null || standing === null) continue
      const stand = standing === 1 ? 'stands' : 'stand'
      world.out.line(
        `          ${plural(finding.before, 'message')} before it, ${whole(standing)} after it ${stand} on it`,
      )
    }
    if (total > listed.length)
      world.out.line(`  and ${whole(total - listed.length)} more: skein verify --json`)
  }

  async function lineOf({ conversation, message, branch, seq, what }: Finding): Promise<string> {
    if (conversation === null || !store) return style.safe(what)
    const title = folded(style.safe((await titleOf(store, conversation)) ?? 'untitled'))
    const where =
      branch !== null
        ? `${style.branch(style.safe(branch))}: `
        : message !== null
          ? `${style.id(await shortIdIn(store, message))}: `
          : seq !== null
            ? `seq ${seq}: `
            : ''
    return `${style.id(await shortIdIn(store, conversation))}  ${style.title(title)} ${dot} ${where}${style.safe(what)}`
  }
}

function damagedLine({ conversations, damaged }: Verified): string {
  const sound = Math.max(0, conversations - damaged)
  const isOrAre = (count: number) => (count === 1 ? 'is' : 'are')
  return `${plural(damaged, 'conversation')} ${isOrAre(damaged)} damaged, ${whole(sound)} ${isOrAre(sound)} sound`
}

/** Null if it has none, or cannot be read: that is what this is about. */
async function titleOf(store: ConversationReader, id: string): Promise<string | null> {
  try {
    return (await store.getConversation(id as ConversationId)).title
  } catch {
    return null
  }
}
