import { strict as assert } from 'node:assert'
import type { OwnedError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import { collectPages } from '../../core/pages.ts'
import type { Store } from '../../core/ports.ts'
import { appendTexts, casesOf, rejects, said, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('reset')

const namesOf = async (store: Store, id: ConversationId) =>
  (await collectPages(page => store.listBranches(id, page))).map(branch => branch.name).sort()

export const resetCases: readonly ContractCase[] = [
  it('empties a branch and archives its messages (S2-54, S2-63)', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const reset = await store.reset(branch)
    assert.deepEqual([reset.branch.name, reset.branch.head], ['main', null])
    assert.deepEqual([reset.archived?.name, reset.archived?.head], ['before-reset-1', ids[2]])
    assert.deepEqual(await store.getBranch(branch), reset.branch)
    assert.deepEqual(await store.getBranch(reset.archived!), reset.archived)
    assert.deepEqual(await said(store, reset.archived!), ['one', 'two', 'three'])
    const { activeBranch, messages } = await store.getConversation(conversation.id)
    assert.deepEqual({ activeBranch, messages }, { activeBranch: 'main', messages: 3 })
    assert.deepEqual(await namesOf(store, conversation.id), ['before-reset-1', 'main'])
  }),
  it('continues after a reset from a new root (S2-54)', async ({ store }) => {
    const { branch } = await startConversation(store)
    await store.reset(branch)
    const { ids } = await appendTexts(store, branch, 'fresh')
    const [message] = await store.getMessages(ids)
    assert.deepEqual([message?.parentId, message?.seq], [null, 3])
    assert.deepEqual(await said(store, branch), ['fresh'])
  }),
  it('numbers the archives of a conversation', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side' })
    await store.reset(branch)
    await appendTexts(store, branch, 'again')
    assert.equal((await store.reset(branch)).archived?.name, 'before-reset-2')
    assert.equal((await store.reset(side)).archived?.name, 'before-reset-3')
    assert.deepEqual(await namesOf(store, conversation.id), [
      'before-reset-1',
      'before-reset-2',
      'before-reset-3',
      'main',
      'side',
    ])
    assert.deepEqual(await said(store, { conversationId: conversation.id, name: 'before-reset-2' }), [
      'again',
    ])
  }),
  it('archives under a given name, and is refused if the name is taken', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const reset = () => store.reset(branch, { archiveAs: 'old' })
    const { archived } = await reset()
    assert.deepEqual([archived?.name, archived?.head], ['old', ids[2]])
    await appendTexts(store, branch, 'after')
    await assert.rejects(reset, { code: 'key_reused', key: 'old' })
    assert.deepEqual(await said(store, branch), ['after'])
    await store.reset(branch)
    const empty = await store.reset(branch, { archiveAs: 'nothing' })
    assert.deepEqual([empty.archived?.name, empty.archived?.head], ['nothing', null])
    assert.deepEqual(await namesOf(store, conversation.id), ['before-reset-1', 'main', 'nothing', 'old'])
  }),
  it('keeps the active branch active when another one is reset', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[1], { name: 'side' })
    await store.reset(side)
    assert.equal((await store.getConversation(conversation.id)).activeBranch, 'main')
    assert.deepEqual(await store.getBranch(branch), branch)
  }),
  it("moves the key to the new branch and stores it as the archive's former key", async ({ store }) => {
    const { conversation, branch } = await startConversation(store, { key: 'cli:default' })
    const { archived } = await store.reset(branch)
    const found = await store.findByKey('cli:default')
    assert.deepEqual(
      [found?.conversation.id, found?.branch.name, found?.branch.head],
      [conversation.id, 'main', null],
    )
    assert.deepEqual([archived?.key, archived?.formerKey], [null, 'cli:default'])
    assert.equal((await store.findOrCreate('cli:default')).created, false)
  }),
  it('removes the agent links of the branch and of no other', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[1], { name: 'side' })
    await store.setAgentLink(branch, { agent: 'a', directory: '/', foreignId: 'x', seen: ids[2] })
    await store.setAgentLink(side, { agent: 'a', directory: '/', foreignId: 'y', seen: null })
    const { archived } = await store.reset(branch)
    assert.deepEqual(await collectPages(page => store.listAgentLinks(branch, page)), [])
    assert.deepEqual(await collectPages(page => store.listAgentLinks(archived!, page)), [])
    assert.equal(await store.findByAgentLink('a', 'x'), null)
    assert.equal((await store.findByAgentLink('a', 'y'))?.branch.name, 'side')
  }),
  it('keeps the prompt by default, and always the rest of the conversation (S2-54)', async ({ store }) => {
    const { conversation, branch } = await startConversation(store, {
      prompt: 'Be terse.',
      title: 'kept',
      metadata: { agent_id: 'a-1' },
      task: 't',
      tags: ['x'],
    })
    for (const options of [undefined, { keepPrompt: true }]) {
      await store.reset(branch, options)
      await appendTexts(store, branch, 'something')
      assert.equal((await store.getConversation(conversation.id)).prompt?.text, 'Be terse.')
    }
    await store.reset(branch, { keepPrompt: false })
    const { prompt, title, metadata, task, tags } = await store.getConversation(conversation.id)
    assert.deepEqual(
      { prompt, title, metadata, task, tags },
      { prompt: null, title: 'kept', metadata: { agent_id: 'a-1' }, task: 't', tags: ['x'] },
    )
  }),
  it('keeps a system message at the beginning of the branch, unless told otherwise (S2-54)', async ({
    store,
  }) => {
    const { branch } = await store.create()
    const system = { role: 'system', content: 'Be terse.' } as const
    const { ids } = await store.append(branch, null, [system, { role: 'user', content: 'Hi.' }])
    const first = await store.reset(branch)
    assert.deepEqual([first.branch.head, first.archived?.head], [ids[0], ids[1]])
    const again = await store.reset(branch, { keepPrompt: true })
    assert.deepEqual([again.branch.head, again.archived], [ids[0], null])
    await store.append(branch, ids[0]!, [{ role: 'user', content: 'Hi again.' }])
    const { branch: emptied, archived } = await store.reset(branch, { keepPrompt: false })
    assert.deepEqual([emptied.head, archived?.name], [null, 'before-reset-2'])
  }),
  it('archives nothing of an empty branch and still clears the prompt if asked', async ({ store }) => {
    const { conversation, branch } = await store.create({ key: 'k', prompt: 'Be terse.' })
    const reset = await store.reset(branch, { keepPrompt: false })
    assert.equal(reset.archived, null)
    assert.deepEqual([reset.branch.name, reset.branch.head, reset.branch.key], ['main', null, 'k'])
    assert.deepEqual(await namesOf(store, conversation.id), ['main'])
    assert.equal((await store.getConversation(conversation.id)).prompt, null)
    assert.equal((await store.findByKey('k'))?.conversation.id, conversation.id)
  }),
  it('refuses to reset a conversation of another program, and changes nothing', async ({ store }) => {
    const place = await startConversation(store, { owner: 'claude-code', key: 'k', prompt: 'Be terse.' })
    const before = await store.getConversation(place.conversation.id)
    const error = await rejects<OwnedError>(store.reset(place.branch, { keepPrompt: false }), 'owned')
    assert.deepEqual([error.conversationId, error.owner], [place.conversation.id, 'claude-code'])
    assert.deepEqual(await store.getConversation(place.conversation.id), before)
    assert.deepEqual(await namesOf(store, place.conversation.id), ['main'])
    assert.equal((await store.findByKey('k'))?.branch.head, place.ids[2])
  }),
]
