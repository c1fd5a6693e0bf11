import { gistOf } from '../../../core/gist.ts'
import type { ConversationId, MessageId } from '../../../core/ids.ts'
import type { ListedConversation } from '../../../core/listing.ts'
import type { Message } from '../../../core/message.ts'
import { modelName } from '../../../core/model-name.ts'
import type { Lister, MessageReader } from '../../../core/ports.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import { formatCount } from '../../output/number.ts'
import { tildify } from '../../output/tildify.ts'
import { formatAge } from '../../output/time.ts'
import { showCommand } from '../../read/show.ts'
import { type ChosenConversation, chooseFork, chooseNamed } from '../../target/choose-conversation.ts'
import { projectDirectories, scopeName } from '../../target/scope.ts'
import type { Keyboard } from '../input/keyboard.ts'
import { newPicker, type PickerChoice } from '../input/picker.ts'
import { runPicker } from '../input/run-picker.ts'
import type { ChatStore } from './chat-controller.ts'

/** What to do with the picked conversation. */
interface PickedConversation {
  readonly action: 'continue' | 'fork' | 'read'
  readonly conversation: ListedConversation
}

interface PickConversation {
  readonly store: Lister & MessageReader
  readonly keyboard: Keyboard
  readonly context: CommandContext
  /** What Escape does, as the last row says it. */
  readonly escapeMeans: string
  /** Whether to start with the conversations of all directories. */
  readonly all?: boolean
}

/** The number of newest conversations to list. Older ones are looked up by title. */
const most = 500

/** The number of conversations to look up at once. */
const mostFound = 50

/** Lets the user pick a conversation, newest first, filtered by title, first and last message, directory,
 *  branch and label. */
async function pickFromList(options: PickConversation): Promise<PickedConversation | null> {
  const { store, keyboard, context, escapeMeans } = options
  let all = options.all ?? false
  for (;;) {
    const filter = all ? {} : { directory: await projectDirectories(store, context) }
    const page = await store.listConversations({ ...filter, kind: 'main', limit: most })
    const picker = newPicker({
      question: 'Continue which conversation?',
      choices: await choicesOf(page.items, store, context),
      total:
        page.next === null ? page.items.length : await store.countConversations({ ...filter, kind: 'main' }),
      scope: all ? 'all directories' : scopeName(context),
      keys: `enter open · tab ${all ? scopeName(context) : 'all directories'} · ctrl+f fork · ctrl+t read · esc ${escapeMeans}`,
      ends: ['tab', 'forward', 'read'],
    })
    const listed = new Set<string>(page.items.map(({ id }) => id))
    const { by, choice } = await runPicker(picker, keyboard, context.err, {
      tellMore: ({ id }) => firstWords(id, store),
      async findMore(typed) {
        // The store finds titles with the longest word. The picker checks the other words.
        const title = typed.split(/\s+/).toSorted((a, b) => b.length - a.length)[0]!
        const found = await store.listConversations({ ...filter, kind: 'main', title, limit: mostFound })
        const others = found.items.filter(({ id }) => !listed.has(id))
        for (const { id } of others) listed.add(id)
        return choicesOf(others, store, context)
      },
    })
    if (by === 'tab') {
      all = !all
      continue
    }
    if (by === 'escape' || !choice) return null
    const action = by === 'enter' ? 'continue' : by === 'forward' ? 'fork' : 'read'
    return { action, conversation: choice.value }
  }
}

async function choicesOf(
  listed: readonly ListedConversation[],
  store: MessageReader,
  context: CommandContext,
): Promise<readonly PickerChoice<ListedConversation>[]> {
  const heads = await readHeads(store, listed)
  const now = context.now()
  return listed.map(conversation => {
    const { id, title, updatedAt, model, directory, branch, label } = conversation
    const head = branch.head === null ? undefined : heads.get(branch.head)
    const last = head ? gistOf(head) : ''
    const messages = head ? head.depth + 1 : 0
    const elsewhere = directory !== null && directory !== context.cwd ? tildify(directory, context.env) : null
    return {
      value: conversation,
      title: title ?? (last || shortTitle(id)),
      facts: [formatAge(updatedAt, now), formatCount(messages), model === null ? '' : modelName(model)],
      alsoFinds: [last, directory ?? '', branch.name, label ?? '', id],
      details: [
        ...(last === '' ? [] : [['last', last] as const]),
        ...(elsewhere === null ? [] : [['in', elsewhere] as const]),
      ],
    }
  })
}

/** The last message of each conversation. An unreadable one is missing. */
async function readHeads(
  store: Pick<MessageReader, 'getMessages'>,
  listed: readonly ListedConversation[],
): Promise<ReadonlyMap<MessageId, Message>> {
  const ids = listed.flatMap(({ branch }) => branch.head ?? [])
  const messages = await store.getMessages(ids, { blobs: 'preview' }).catch(() => [])
  return new Map(messages.map(message => [message.id, message]))
}

async function firstWords(id: ConversationId, store: Lister): Promise<PickerChoice<unknown>['details']> {
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

/** Lets the user pick a conversation to continue or to fork, or returns null. `escapeMeans` says what null
 *  means. */
export async function pickConversation(
  store: ChatStore,
  keyboard: Keyboard,
  context: CommandContext,
  escapeMeans: string,
): Promise<ChosenConversation | null> {
  for (;;) {
    const picked = await pickFromList({ store, keyboard, context, escapeMeans })
    if (picked === null) return null
    const { branch, ...conversation } = picked.conversation
    const { id } = conversation
    if (picked.action !== 'read') {
      const named = `${id}:${branch.name}`
      const resolved = { conversation, branch, message: null }
      const chosen = await chooseNamed(named, resolved, { force: true }, store, context)
      return picked.action === 'continue' ? chosen : chooseFork(store, resolved, branch.head)
    }
    await keyboard.lend(() => showCommand({ arguments: [id], options: {} }, context))
  }
}
