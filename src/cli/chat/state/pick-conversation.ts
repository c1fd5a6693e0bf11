import type { ConversationId } from '../../../core/ids.ts'
import type { ListedConversation } from '../../../core/listing.ts'
import type { Lister, MessageReader } from '../../../core/ports.ts'
import type { World } from '../../command-line/command-context.ts'
import { gistOf } from '../../output/gist.ts'
import { modelName } from '../../output/model-name.ts'
import { count } from '../../output/number.ts'
import { homely } from '../../output/tildify.ts'
import { age } from '../../output/time.ts'
import { show } from '../../read/show.ts'
import { branchAt } from '../../target/planned-fork.ts'
import type { Keyboard } from '../input/keyboard.ts'
import { pick } from '../input/pick.ts'
import { type Choice, newPicker } from '../input/picker.ts'
import type { ChatStore } from './chat-controller.ts'
import { lastWords } from './last-words.ts'

/** What a person wants with a conversation from the list; null for none of them. */
interface PickedConversation {
  readonly wish: 'go on' | 'fork' | 'read'
  readonly conversation: ListedConversation
}

interface PickConversation {
  readonly store: Lister & MessageReader
  readonly keyboard: Keyboard
  readonly world: World
  /** What Escape does, as the last row says it. */
  readonly escapeMeans: string
  /** Whether to begin with those of all directories. */
  readonly all?: boolean
}

/** So many of the newest are listed. Of the others, those whose title has what is typed are looked up. */
const most = 500

/** So many are looked up at once. */
const mostFound = 50

/** Lets a person pick a conversation: the newest first, searched by title, first and last words, directory, branch
 *  and label as one types. */
async function pickConversation(options: PickConversation): Promise<PickedConversation | null> {
  const { store, keyboard, world, escapeMeans } = options
  let all = options.all ?? false
  for (;;) {
    const filter = all ? {} : { directory: world.cwd }
    const page = await store.listConversations({ ...filter, kind: 'main', limit: most })
    const picker = newPicker({
      question: 'Go on with which conversation?',
      choices: await choicesOf(page.items, store, world),
      total:
        page.next === null ? page.items.length : await store.countConversations({ ...filter, kind: 'main' }),
      scope: all ? 'all directories' : 'this directory',
      keys: `enter go on · tab ${all ? 'this directory' : 'all directories'} · ctrl+f fork · ctrl+t read · esc ${escapeMeans}`,
      ends: ['tab', 'forward', 'read'],
    })
    const listed = new Set<string>(page.items.map(({ id }) => id))
    const { by, choice } = await pick(picker, keyboard, world.err, {
      tellMore: ({ id }) => firstWords(id, store),
      async findMore(typed) {
        // The title has all of the words if it has the longest, and then some: the picker sees to the rest.
        const title = typed.split(/\s+/).toSorted((a, b) => b.length - a.length)[0]!
        const found = await store.listConversations({ ...filter, kind: 'main', title, limit: mostFound })
        const others = found.items.filter(({ id }) => !listed.has(id))
        for (const { id } of others) listed.add(id)
        return choicesOf(others, store, world)
      },
    })
    if (by === 'tab') {
      all = !all
      continue
    }
    if (by === 'escape' || !choice) return null
    const wish = by === 'enter' ? 'go on' : by === 'forward' ? 'fork' : 'read'
    return { wish, conversation: choice.value }
  }
}

async function choicesOf(
  listed: readonly ListedConversation[],
  store: MessageReader,
  world: World,
): Promise<readonly Choice<ListedConversation>[]> {
  const lasts = await lastWords(
    store,
    listed.map(({ branch }) => branch.head),
  )
  const now = world.now()
  return listed.map((conversation, i) => {
    const { id, title, updatedAt, messages, model, directory, branch, label } = conversation
    const last = lasts[i] ?? ''
    const place = directory !== null && directory !== world.cwd ? homely(directory, world.env) : null
    return {
      value: conversation,
      title: title ?? (last || shortTitle(id)),
      facts: [age(updatedAt, now), count(messages), model === null ? '' : modelName(model)],
      alsoFinds: [last, directory ?? '', branch.name, label ?? '', id],
      details: [
        ...(last === '' ? [] : [['last', last] as const]),
        ...(place === null ? [] : [['in', place] as const]),
      ],
    }
  })
}

async function firstWords(id: ConversationId, store: Lister): Promise<Choice<unknown>['details']> {
  const first = await store.listMessages({
    conversationId: id,
    order: 'ascending',
    roles: ['user'],
    limit: 1,
    blobs: 'preview',
  })
  return first.items.map(message => ['first', gistOf(message)] as const)
}

function shortTitle(id: ConversationId): string {
  return `without a title (${id.slice(0, 8)})`
}

/** Lets a person pick a conversation, and returns what names the branch to go on with: `id:branch`. Null if they picked
 *  none. `escapeMeans` is what that means. */
export async function chooseByHand(
  store: ChatStore,
  keyboard: Keyboard,
  world: World,
  escapeMeans: string,
): Promise<string | null> {
  for (;;) {
    const picked = await pickConversation({ store, keyboard, world, escapeMeans })
    if (picked === null) return null
    const { id, branch } = picked.conversation
    if (picked.wish === 'go on') return `${id}:${branch.name}`
    if (picked.wish === 'fork') {
      const { name } = await branchAt(store, id, branch.head, branch.name)
      return `${id}:${name}`
    }
    await keyboard.lend(() => show({ arguments: [id], options: {} }, world))
  }
}
