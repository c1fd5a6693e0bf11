import { countDependents, type Finding, type Verified } from '../../core/finding.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ConversationReader } from '../../core/ports.ts'
import type { World } from '../command-line/command-context.ts'
import { folded } from '../output/cut.ts'
import { plural, whole } from '../output/number.ts'
import { shortIdIn } from '../output/short-id.ts'
import { duration } from '../output/time.ts'

/** How many are named to people; programs are told all. */
const mostListed = 50

/** What was found, for people: what is damaged first, then what can be repaired; what is only odd is counted. */
export async function tellFindings(
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
