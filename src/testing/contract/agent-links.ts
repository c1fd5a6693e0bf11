import { strict as assert } from 'node:assert'
import type { BranchRef, NewAgentLink } from '../../core/branch.ts'
import type { NotFoundError } from '../../core/errors.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import type { BranchInConversation, Store } from '../../core/ports.ts'
import { appendTexts, casesOf, noConversation, rejects, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('agent links')

const link = (fields: Partial<NewAgentLink> = {}): NewAgentLink => ({
  agent: 'copilot',
  directory: '/home/me/project',
  foreignId: 'theirs-1',
  seen: null,
  ...fields,
})

const at = (place: BranchInConversation | null) => place && [place.conversation.id, place.branch.name]

/** The foreign ids of a branch, sorted, because a list of links has no order. */
const foreignIds = async (store: Store, ref: BranchRef) =>
  (await collectPages(page => store.listAgentLinks(ref, page))).map(one => one.foreignId).sort()

export const agentLinkCases: readonly ContractCase[] = [
  it("stores the agent's own id for a branch and the last message that it has seen (S4-9)", async ({
    store,
    clock,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    assert.deepEqual(await collectPages(page => store.listAgentLinks(branch, page)), [])
    clock.now += 5_000
    await store.setAgentLink(branch, link({ seen: ids[1] }))
    assert.deepEqual(await collectPages(page => store.listAgentLinks(branch, page)), [
      {
        conversationId: conversation.id,
        name: 'main',
        ...link({ seen: ids[1] }),
        updatedAt: new Date(clock.now),
      },
    ])
  }),
  it('keeps one link for each agent and directory of a branch and replaces it (S4-9)', async ({
    store,
    clock,
  }) => {
    const { branch, ids } = await startConversation(store)
    await store.setAgentLink(branch, link({ seen: ids[0] }))
    clock.now += 5_000
    await store.setAgentLink(branch, link({ foreignId: 'theirs-2', seen: ids[2] }))
    const [only, ...others] = await collectPages(page => store.listAgentLinks(branch, page))
    assert.deepEqual(others, [])
    assert.deepEqual([only?.foreignId, only?.seen], ['theirs-2', ids[2]])
    assert.deepEqual(only?.updatedAt, new Date(clock.now))
    assert.equal(await store.findByAgentLink('copilot', 'theirs-1'), null)
    assert.deepEqual(at(await store.findByAgentLink('copilot', 'theirs-2'))?.[1], 'main')
    await store.setAgentLink(branch, link({ foreignId: 'theirs-2', seen: null }))
    assert.equal((await collectPages(page => store.listAgentLinks(branch, page)))[0]?.seen, null)
  }),
  it('keeps the links of other agents, directories and branches apart (S4-12, S4-27)', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side' })
    const elsewhere = await startConversation(store)
    await store.setAgentLink(branch, link({ foreignId: 'a' }))
    await store.setAgentLink(branch, link({ foreignId: 'b', agent: 'gemini' }))
    await store.setAgentLink(branch, link({ foreignId: 'c', directory: '/tmp' }))
    await store.setAgentLink(side, link({ foreignId: 'd' }))
    await store.setAgentLink(elsewhere.branch, link({ foreignId: 'e' }))
    assert.deepEqual(await foreignIds(store, branch), ['a', 'b', 'c'])
    assert.deepEqual(await foreignIds(store, side), ['d'])
    assert.deepEqual(await foreignIds(store, elsewhere.branch), ['e'])
  }),
  it("finds a branch by an agent's own id (S4-27)", async ({ store }) => {
    const one = await startConversation(store)
    const two = await startConversation(store)
    const side = await store.createBranch(two.conversation.id, two.ids[1], { name: 'side' })
    await store.setAgentLink(one.branch, link({ foreignId: 'a' }))
    await store.setAgentLink(side, link({ foreignId: 'b' }))
    await store.setAgentLink(one.branch, link({ foreignId: 'b', agent: 'gemini' }))
    assert.deepEqual(at(await store.findByAgentLink('copilot', 'a')), at(one))
    assert.deepEqual(at(await store.findByAgentLink('copilot', 'b')), [two.conversation.id, 'side'])
    assert.deepEqual(at(await store.findByAgentLink('gemini', 'b')), at(one))
    const found = await store.findByAgentLink('copilot', 'b')
    assert.deepEqual(found?.branch, await store.getBranch(side))
    assert.deepEqual(found?.conversation, await store.getConversation(two.conversation.id))
    for (const [agent, id] of [
      ['gemini', 'a'],
      ['copilot', 'c'],
      ['COPILOT', 'a'],
      ['copilot', '%'],
      ['%', 'a'],
    ] as const) {
      assert.equal(await store.findByAgentLink(agent, id), null, `${agent} ${id}`)
    }
  }),
  it('removes one link and keeps the others', async ({ store }) => {
    const { branch } = await startConversation(store)
    await store.setAgentLink(branch, link({ foreignId: 'a' }))
    await store.setAgentLink(branch, link({ foreignId: 'b', agent: 'gemini' }))
    await store.setAgentLink(branch, link({ foreignId: 'c', directory: '/tmp' }))
    await store.removeAgentLink(branch, 'copilot', '/home/me/project')
    assert.deepEqual(await foreignIds(store, branch), ['b', 'c'])
    assert.equal(await store.findByAgentLink('copilot', 'a'), null)
    await store.setAgentLink(branch, link({ foreignId: 'again' }))
    assert.deepEqual(await foreignIds(store, branch), ['again', 'b', 'c'])
  }),
  it('refuses links of a missing branch and links without names', async ({ store }) => {
    const { conversation, branch } = await startConversation(store)
    const nowhere = { conversationId: conversation.id, name: 'nowhere' }
    const error = await rejects<NotFoundError>(store.setAgentLink(nowhere, link()), 'not_found')
    assert.equal(error.kind, 'branch')
    await rejects(
      collectPages(page => store.listAgentLinks(nowhere, page)),
      'not_found',
    )
    await rejects(store.setAgentLink({ conversationId: noConversation, name: 'main' }, link()), 'not_found')
    for (const bad of [{ agent: '' }, { foreignId: '' }, { agent: 'a\0' }, { foreignId: 'f'.repeat(513) }]) {
      await rejects(store.setAgentLink(branch, link(bad)), 'invalid')
    }
    await rejects(store.setAgentLink(branch, link({ directory: '/a\0b' })), 'invalid')
    await rejects(store.removeAgentLink(branch, 'copilot', '/a\0b'), 'invalid')
    await rejects(store.findByAgentLink('copilot', ''), 'invalid')
    assert.deepEqual(await collectPages(page => store.listAgentLinks(branch, page)), [])
  }),
  it('keeps the seen message of a link while the branch continues', async ({ store }) => {
    const { branch, ids } = await startConversation(store)
    await store.setAgentLink(branch, link({ seen: ids[2] }))
    const { head } = await appendTexts(store, branch, 'four', 'five')
    assert.equal((await collectPages(page => store.listAgentLinks(branch, page)))[0]?.seen, ids[2])
    assert.deepEqual(
      (await pathOf(store, head)).slice(3).map(message => message.parentId === ids[2]),
      [true, false],
    )
  }),
  it('finds an expired conversation by its agent link, but not a trashed one', async ({ store, clock }) => {
    const place = await startConversation(store, { ttlMs: 1_000 })
    await store.setAgentLink(place.branch, link())
    clock.now += 5_000
    assert.deepEqual(at(await store.findByAgentLink('copilot', 'theirs-1')), at(place))
    await store.trash(place.conversation.id)
    assert.equal(await store.findByAgentLink('copilot', 'theirs-1'), null)
    await store.restore(place.conversation.id)
    assert.deepEqual(at(await store.findByAgentLink('copilot', 'theirs-1')), at(place))
  }),
  it(
    'keeps one link when two handles set it at the same time',
    async ({ store, second }) => {
      const other = await second()
      const { branch } = await startConversation(store)
      for (let round = 0; round < 20; round++) {
        const set = (one: Store, n: number) => one.setAgentLink(branch, link({ foreignId: `${round}:${n}` }))
        await Promise.all([set(store, 0), set(other, 1), set(store, 2), set(other, 3)])
        const links = await collectPages(page => store.listAgentLinks(branch, page))
        assert.equal(links.length, 1)
        assert.deepEqual(await collectPages(page => other.listAgentLinks(branch, page)), links)
        assert.ok(links[0]?.foreignId.startsWith(`${round}:`))
      }
    },
    'second handle',
  ),
]
