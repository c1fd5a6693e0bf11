import type { Conversation } from '../../core/conversation.ts'
import type { Store } from '../../core/ports.ts'
import type { Run } from '../command.ts'
import { exit } from '../exit.ts'
import { withStore } from '../look/look.ts'
import { folded } from '../terminal/cut.ts'
import { plural, whole } from '../terminal/number.ts'
import { progressLine } from '../terminal/progress.ts'
import { duration } from '../terminal/time.ts'
import type { World } from '../world.ts'
import { allConversations } from './all-conversations.ts'
import { checkMessages, type Damage } from './check-messages.ts'
import { shortIdIn } from './short-id-in.ts'

/** Checks that every message is what its id says. Exit 1 if one is not. */
export const verify: Run = (given, world) =>
  withStore(world, async store => {
    const began = performance.now()
    const { conversations, unreadable } = await chosen(store, given.arguments)
    const total = conversations.reduce((sum, { messages }) => sum + messages, 0)
    const progress = progressLine(world, 'checking', 'messages')
    const damaged: Damage[] = [...unreadable]
    let [checked, erased] = [0, 0]
    try {
      for (const conversation of conversations) {
        const result = await checkMessages(store, conversation, {
          signal: world.signal,
          onProgress: done => progress.show(checked + done, total),
        })
        checked += result.messages
        erased += result.erased
        damaged.push(...result.damaged)
      }
    } finally {
      progress.end()
    }
    const facts = { checked, erased, conversations: conversations.length + unreadable.length, damaged }
    if (world.json) world.out.line(JSON.stringify(jsonOf(facts)))
    else await tell(store, world, facts, performance.now() - began, conversations)
    return damaged.length > 0 ? exit.failure : exit.ok
  })

/** The conversations that were named, or all, those in the trash included. */
async function chosen(store: Store, named: readonly string[]) {
  const conversations: Conversation[] = []
  const unreadable: Damage[] = []
  if (named.length > 0) {
    for (const text of named) conversations.push((await store.resolve(text)).conversation)
    return { conversations, unreadable }
  }
  for (const filter of [{}, { trashed: true }] as const) {
    const { items, skipped } = await allConversations(store, filter)
    conversations.push(...items)
    unreadable.push(
      ...skipped.map(({ id, reason }) => ({
        conversation: id,
        message: null,
        reason,
        before: null,
        after: null,
      })),
    )
  }
  return { conversations, unreadable }
}

interface Facts {
  readonly checked: number
  readonly erased: number
  readonly conversations: number
  readonly damaged: readonly Damage[]
}

function jsonOf({ checked, erased, conversations, damaged }: Facts) {
  return { checked, erased, conversations, damaged }
}

async function tell(
  store: Store,
  world: World,
  { checked, erased, conversations, damaged }: Facts,
  ms: number,
  known: readonly Conversation[],
): Promise<void> {
  const { style } = world.out
  const { dot, ok, failed } = style.symbols
  const erasedPart = erased > 0 ? ` ${dot} ${whole(erased)} erased on purpose` : ''
  if (!world.quiet) {
    const what = `${plural(checked, 'message')} in ${plural(conversations, 'conversation')}`
    world.err.line(`checked ${what}${erasedPart} ${dot} ${duration(ms)}`)
  }
  const broken = Map.groupBy(damaged, ({ conversation }) => conversation)
  if (broken.size === 0) {
    if (!world.quiet) world.out.line(`${style.ok(ok)} all are sound`)
    return
  }
  const isOrAre = broken.size === 1 ? 'is' : 'are'
  const sound = conversations - broken.size
  world.out.line(
    `${style.failed(failed)} ${plural(broken.size, 'conversation')} ${isOrAre} damaged, ${whole(sound)} ${sound === 1 ? 'is' : 'are'} sound`,
  )
  const titles = new Map<string, string | null>(known.map(({ id, title }) => [id, title]))
  const listed = damaged.slice(0, mostListed)
  for (const [id, faults] of Map.groupBy(listed, ({ conversation }) => conversation)) {
    const title = folded(style.safe(titles.get(id) ?? 'untitled'))
    const short = await shortIdIn(store, id)
    for (const { message, reason, before, after } of faults) {
      const which = message === null ? '' : `${style.id(await shortIdIn(store, message))}: `
      world.out.line(`  ${style.id(short)}  ${style.title(title)} ${dot} ${which}${style.safe(reason)}`)
      if (before === null || after === null) continue
      const stand = after === 1 ? 'stands' : 'stand'
      world.out.line(
        `          ${plural(before, 'message')} before it, ${whole(after)} after it ${stand} on it`,
      )
    }
  }
  if (damaged.length > mostListed) {
    world.out.line(`  and ${whole(damaged.length - mostListed)} more: skein verify --json`)
  }
}

/** How many are named to people; programs are told all. */
const mostListed = 50
