import { expect, it } from 'vitest'
import { copyAsNewConversation } from '../../src/core/maintenance.ts'
import { OwnedError, pathOf, textOf } from '../../src/index.ts'
import { said, world } from './build.ts'

/** A conversation that an importer has stored for another program, with an unanswered question at its end. */
async function owned() {
  const here = await world(['An answer.'], { system: 'Be terse.' })
  const { conversation, branch } = await here.store.create({ owner: 'claude-code', key: 'theirs' })
  const holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }
  const turn = { key: 't', step: 0, status: 'open', holder } as const
  await here.store.append(branch, null, [{ role: 'user', content: 'their question' }], { turn })
  await here.store.endTurn(conversation.id, 't', { status: 'interrupted', heldBy: holder })
  const before = await here.store.getConversation(conversation.id)
  return { ...here, branch, before }
}

it.each(['by its key', 'by its branch'] as const)(
  'refuses to send to a conversation of another program, and to resume it: %s',
  async how => {
    const here = await owned()
    await using _ = here
    const target = how === 'by its key' ? 'theirs' : here.branch
    const refusals = [
      here.agent.ask(target, 'mine'),
      here.agent.send(target, 'mine').result(),
      here.agent.resume(target).result(),
    ]
    for (const refused of refusals) {
      const error = await refused.catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(OwnedError)
      expect(error).toMatchObject({
        code: 'owned',
        owner: 'claude-code',
        conversationId: here.before.id,
        message: expect.stringContaining('continue it there, or continue a copy'),
      })
    }
    // Not even the prompt of the agent is stored there.
    expect(await here.store.getConversation(here.before.id)).toEqual(here.before)
    expect(await said(here.store, 'theirs')).toEqual(['user: their question'])
  },
)

it('continues a copy of a conversation of another program', async () => {
  const here = await owned()
  await using _ = here
  const { head } = await here.store.getBranch(here.branch)
  await here.store.updateConversation(here.before.id, { title: 'Theirs', directory: '/work' })
  const copy = await copyAsNewConversation(here.store, head!, { key: 'mine' })
  expect(copy.conversation).toMatchObject({ owner: null, title: 'Theirs', directory: '/work', messages: 1 })
  const [original] = await pathOf(here.store, head!)
  const [copied] = await pathOf(here.store, copy.branch.head!)
  expect(copied).toMatchObject({ createdAt: original!.createdAt, plain: true, tokens: original!.tokens })
  await here.agent.ask('mine', 'and mine')
  const path = await pathOf(here.store, (await here.store.findByKey('mine'))!.branch.head!)
  expect(path.map(textOf)).toEqual(['their question', 'and mine', 'An answer.'])
  expect(await said(here.store, 'theirs')).toEqual(['user: their question'])
})
