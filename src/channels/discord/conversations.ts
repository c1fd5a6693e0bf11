import type { AgentStore } from '../../agent/options.ts'
import type { Branch, BranchRef } from '../../core/branch.ts'
import { freeSiblingName } from '../../core/branch-name.ts'
import { branchNames } from '../../core/branch-names.ts'
import type { Conversation } from '../../core/conversation.ts'
import { KeyReusedError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import { itemsOf } from '../../core/pages.ts'
import type { BranchInConversation, Deleter, Lister } from '../../core/ports.ts'
import type { Turn } from '../../core/turn.ts'
import type { ThreadStarter } from './incoming.ts'
import {
  type DiscordPlace,
  discordTurnKey,
  isOlder,
  keyOfPlace,
  messageIdOf,
  type PlaceMetadata,
  placeMetadataOf,
} from './place.ts'

/** The ports of a store that the channel needs. */
export type ChannelStore = AgentStore & Lister & Deleter

/** A place, and what is needed to make its conversation. */
export interface PlaceOrigin {
  readonly place: DiscordPlace
  /** The name of the channel or thread, for the title. */
  readonly placeName: string | null
  /** A private thread never shares the conversation of its channel, which more people can search. */
  readonly isPrivate: boolean
  starter(): Promise<ThreadStarter | null>
}

/** The branch of a place. A new thread continues from the message that it was started on if `inherit` is set,
 *  and starts empty otherwise. */
export async function findPlace(
  store: ChannelStore,
  origin: PlaceOrigin,
  inherit: boolean,
): Promise<BranchInConversation> {
  const { place } = origin
  if (place.kind === 'thread' && inherit && !origin.isPrivate) {
    const key = keyOfPlace(place)
    const found = (await store.findByKey(key)) ?? (await inheritThread(store, origin, place, key))
    if (found) return found
  }
  return makePlace(store, origin)
}

function makePlace(
  store: ChannelStore,
  { place, placeName }: Pick<PlaceOrigin, 'place' | 'placeName'>,
  since?: string,
): Promise<BranchInConversation> {
  return store.findOrCreate(keyOfPlace(place), {
    channel: 'discord',
    metadata: placeMetadataOf(place, since),
    ...(placeName !== null && { title: place.kind === 'channel' ? `#${placeName}` : placeName }),
  })
}

/** Creates the branch of a thread in the conversation of its channel. Null if the channel has none. */
async function inheritThread(
  store: ChannelStore,
  origin: PlaceOrigin,
  thread: Extract<DiscordPlace, { kind: 'thread' }>,
  key: string,
): Promise<BranchInConversation | null> {
  const { channelId, serverId } = thread
  const parent = await store.findByKey(keyOfPlace({ kind: 'channel', channelId, serverId }))
  if (!parent) return null
  const at = await startOf(store, parent, thread.threadId, await origin.starter())
  if (at === null) return null
  const title = origin.placeName
  return addBranch(store, parent.conversation, at, {
    name: `thread-${thread.threadId}`,
    key,
    ...(title !== null && { title }),
  })
}

/** The stored message that a thread was started on. A thread has the id of its message. If the message is an
 *  answer of the bot, the turn of the question is the one that it replied to. Otherwise the bot does not know
 *  the message: the newest turn before it counts. */
async function startOf(
  store: ChannelStore,
  { conversation, branch }: BranchInConversation,
  threadId: string,
  starter: ThreadStarter | null,
): Promise<MessageId | null> {
  const { id } = conversation
  const question = await store.findTurn(id, discordTurnKey(starter?.id ?? threadId))
  if (question) return messageAt(store, id, question.first)
  const answered = starter?.answerTo ? await store.findTurn(id, discordTurnKey(starter.answerTo)) : null
  if (answered) return messageAt(store, id, answered.last)
  const before = await turnBefore(store, id, branch.name, threadId)
  return before && messageAt(store, id, before.last)
}

async function turnBefore(
  store: ChannelStore,
  id: ConversationId,
  branch: string,
  before: string,
): Promise<Turn | null> {
  let after: string | undefined
  do {
    const page = await store.listTurns(id, { order: 'descending', ...(after !== undefined && { after }) })
    const found = page.items.find(turn => {
      const message = messageIdOf(turn.key)
      return turn.branch === branch && message !== null && isOlder(message, before)
    })
    if (found) return found
    after = page.next ?? undefined
  } while (after !== undefined)
  return null
}

async function messageAt(store: ChannelStore, id: ConversationId, seq: number): Promise<MessageId | null> {
  const page = await store.listMessages({
    conversationId: id,
    afterSeq: seq - 1,
    order: 'ascending',
    limit: 1,
    blobs: 'preview',
  })
  return page.items[0]?.id ?? null
}

/** Creates a branch under a free name. If another process has taken the key, returns its branch. */
async function addBranch(
  store: ChannelStore,
  conversation: Conversation,
  at: MessageId | null,
  wanted: { readonly name: string; readonly key?: string; readonly title?: string },
): Promise<BranchInConversation> {
  const taken = await branchNames(store, conversation.id)
  const name = taken.has(wanted.name) ? freeSiblingName(wanted.name, taken) : wanted.name
  try {
    return { conversation, branch: await store.createBranch(conversation.id, at, { ...wanted, name }) }
  } catch (error) {
    const other = wanted.key === undefined ? null : await store.findByKey(wanted.key)
    if (error instanceof KeyReusedError && other) return other
    throw error
  }
}

/** Whether the message was received before. A message that is older than the conversation may belong to an
 *  earlier one of the same place. */
export async function isKnownMessage(
  store: ChannelStore,
  { conversation }: BranchInConversation,
  messageId: string,
): Promise<boolean> {
  if (await store.findTurn(conversation.id, discordTurnKey(messageId))) return true
  const { discord_since: since, discord_place: key } = placeMetadata(conversation)
  if (since === undefined || key === undefined || !isOlder(messageId, since)) return false
  return (await findTurnAt(store, key, messageId)) !== null
}

/** The turn of a message, in any conversation that the place has or had. */
export async function findTurnAt(
  store: ChannelStore,
  placeKey: string,
  messageId: string,
): Promise<Turn | null> {
  const current = await store.findByKey(placeKey)
  const earlier = []
  for (const trashed of [false, true]) {
    const metadata = { discord_place: placeKey }
    earlier.push(...(await store.listConversations({ metadata, trashed, limit: mostEarlier })).items)
  }
  for (const id of new Set([...(current ? [current.conversation.id] : []), ...earlier.map(one => one.id)])) {
    const turn = await store.findTurn(id, discordTurnKey(messageId))
    if (turn) return turn
  }
  return null
}

/** Most earlier conversations of a place to look at. */
const mostEarlier = 100

function placeMetadata({ metadata }: Conversation): Partial<PlaceMetadata> {
  return metadata as Partial<PlaceMetadata>
}

/** The id of the first message of a turn: the words of a person. */
export async function wordsOf(
  store: ChannelStore,
  { conversationId, first }: Pick<Turn, 'conversationId' | 'first'>,
): Promise<MessageId | null> {
  return messageAt(store, conversationId, first)
}

/** Starts a new conversation in a place; the old one stays. A conversation that other places share keeps its
 *  other branches. */
export async function startNew(
  store: ChannelStore,
  origin: Pick<PlaceOrigin, 'place' | 'placeName'>,
  commandId: string,
): Promise<BranchInConversation> {
  const found = await store.findByKey(keyOfPlace(origin.place))
  if (found && (await isShared(store, found))) return resetBranch(store, found)
  if (found) await store.setKey(found.branch, null)
  return makePlace(store, origin, commandId)
}

/** Moves the conversation of a place to the trash and starts a new one. A conversation that other places
 *  share stays; only the branch of this place is set aside. */
export async function clearPlace(
  store: ChannelStore,
  origin: Pick<PlaceOrigin, 'place' | 'placeName'>,
  commandId: string,
  conversationId: ConversationId,
): Promise<'trashed' | 'set aside' | 'gone'> {
  const found = await store.findByKey(keyOfPlace(origin.place))
  if (found?.conversation.id !== conversationId) return 'gone'
  if (await isShared(store, found)) {
    await resetBranch(store, found)
    return 'set aside'
  }
  await store.trash(conversationId)
  await makePlace(store, origin, commandId)
  return 'trashed'
}

async function resetBranch(store: ChannelStore, found: BranchInConversation): Promise<BranchInConversation> {
  const { branch } = await store.reset(found.branch)
  return { conversation: found.conversation, branch }
}

/** Whether other places have branches of the conversation. */
async function isShared(
  store: ChannelStore,
  { conversation, branch }: BranchInConversation,
): Promise<boolean> {
  for await (const { key } of itemsOf(page => store.listBranches(conversation.id, page)))
    if (key !== null && key !== branch.key) return true
  return false
}

/** Continues a place on a new branch from its newest message. The old branch stays. */
export async function forkHere(
  store: ChannelStore,
  { conversation, branch }: BranchInConversation,
): Promise<Branch> {
  const made = await addBranch(store, conversation, branch.head, { name: nextName(branch) })
  return store.moveKey(branch, made.branch.name)
}

function nextName({ name }: BranchRef): string {
  return /-\d+$/.test(name) ? name : `${name}-2`
}

/** Makes a thread a branch of the conversation of its channel, from the newest message. */
export async function forkToThread(
  store: ChannelStore,
  { conversation, branch }: BranchInConversation,
  threadId: string,
  title: string,
): Promise<void> {
  const key = `discord:thread:${threadId}`
  await addBranch(store, conversation, branch.head, { name: `thread-${threadId}`, key, title })
}
