import type { ConversationId, MessageId, Store } from '../../src/index.ts'

export const holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }
export const why = { by: 'me', reason: 'private' }

export interface Told {
  readonly id: ConversationId
  readonly ids: readonly MessageId[]
  /** A word of every place in which content is stored. */
  readonly words: readonly string[]
}

type Place = keyof typeof beginnings

/** The index stores only the difference between a word and the one before it. With such beginnings, each word
 *  is stored whole. */
const beginnings = {
  Title: 'bxq',
  Overflow: 'czq',
  Blob: 'dqx',
  Asked: 'fjx',
  Draft: 'gvq',
  Summary: 'hkq',
  Prompt: 'jxq',
} as const

/** A conversation whose words are in rows, pages of overflow, blobs, drafts, summaries, the title, the prompt
 *  and the search index. `name` makes its words unique. */
export async function tell(store: Store, name: string): Promise<Told> {
  const word = (place: Place) => `${beginnings[place]}${place}${name}`.toLowerCase()
  const prompt = `be ${word('Prompt')}`
  const { conversation, branch } = await store.create({ prompt })
  const { ids, head } = await store.append(branch, null, [
    { role: 'user', content: `the title is ${word('Title')}` },
    { role: 'assistant', content: `${'long '.repeat(1_500)}${word('Overflow')}` },
    { role: 'user', content: `${'large '.repeat(6_000)}${word('Blob')}`, label: 'kept' },
  ])
  const turn = { key: 't', step: 0, holder, status: 'open' as const }
  const opened = await store.append(branch, head, [{ role: 'user', content: word('Asked') }], { turn })
  for (let n = 0; n < 20; n++) {
    const text = `${word('Draft')} piece ${n} `
    await store.putDraft(conversation.id, 't', holder, [{ n, type: 'text', text }])
  }
  const ended = await store.endTurn(conversation.id, 't', { status: 'interrupted', heldBy: holder })
  const range = { first: ids[0], last: ids[1]! }
  await store.claimSummary(conversation.id, range, holder)
  await store.putSummary(conversation.id, { ...range, tokens: 1, text: word('Summary'), holder })
  const places = ['Title', 'Overflow', 'Blob', 'Asked', 'Draft', 'Summary'] as const
  return {
    id: conversation.id,
    ids: [...ids, opened.head, ended.message!],
    words: [...places.map(word), ...(name.startsWith('purge') ? [word('Prompt')] : [])],
  }
}

/** Each way to remove a conversation's words. */
export const removals = {
  eraseMessages: (store: Store, { ids }: Told) => store.eraseMessages(ids, why),
  deleteMessages: (store: Store, { ids }: Told) => store.deleteMessages([ids[0]!], { recursive: true }),
  purge: async (store: Store, { id }: Told) => {
    await store.trash(id)
    return store.purge(id)
  },
} as const
