import { strict as assert } from 'node:assert'
import type { PreconditionFailedError } from '../../core/conditional-writer.ts'
import type { InvalidError, NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { Store } from '../../core/ports.ts'
import { casesOf, noConversation, rejects, say, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('conditional writes')

/** Every write that can be conditional, on the conversation of `startConversation`. */
async function writesOf(store: Store) {
  const { conversation, branch, ids } = await startConversation(store)
  const { id } = conversation
  await store.createBranch(id, ids[0], { name: 'side' })
  const side = { conversationId: id, name: 'side' }
  const head = ids.at(-1)!
  return {
    id,
    all: [
      on => on.updateConversation(id, { title: 'Mine' }),
      on => on.append(branch, head, [say('mine')]),
      on => on.createBranch(id, head, { name: 'mine' }),
      on => on.createBranch(id, null, { name: 'mine', key: 'mine' }),
      on => on.moveBranch(branch, head, ids[0]),
      on => on.setKey(branch, 'mine'),
      on => on.activateBranch(side),
      on => on.renameBranch(side, 'mine'),
      on => on.deleteBranch(side),
      on => on.reset(branch),
      on => on.trash(id),
    ] satisfies ((on: ReturnType<Store['ifVersion']>) => Promise<unknown>)[],
  }
}

async function everything(store: Store, id: ConversationId) {
  const { items } = await store.listBranches(id)
  return [await store.getConversation(id), items]
}

export const conditionalWriteCases: readonly ContractCase[] = [
  it('refuses every write after a change, names the version, and writes nothing', async ({ store }) => {
    const { id, all } = await writesOf(store)
    const read = await store.versionOf(id)
    await store.updateConversation(id, { title: 'Theirs' })
    const before = await everything(store, id)
    for (const write of all) {
      const error: PreconditionFailedError = await rejects(
        write(store.ifVersion(id, read)),
        'precondition_failed',
      )
      assert.equal(error.version, await store.versionOf(id))
      assert.deepEqual(await everything(store, id), before)
    }
  }),
  it('writes if the version is the given one, or one of several', async ({ store }) => {
    const { all } = await writesOf(store)
    for (const [i] of all.entries()) {
      const { id, all: writes } = await writesOf(store)
      const version = await store.versionOf(id)
      await writes[i]!(store.ifVersion(id, i % 2 === 0 ? version : [version + 7, version]))
      assert.ok((await store.versionOf(id)) > version)
      if (i === 3 || i === 5) await store.trash(id)
    }
  }),
  it('lets one of several writers of the same version succeed', async ({ store }) => {
    const { conversation } = await startConversation(store)
    for (let round = 0; round < 20; round++) {
      const version = await store.versionOf(conversation.id)
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, (_, n) =>
          store
            .ifVersion(conversation.id, version)
            .updateConversation(conversation.id, { title: `${round} ${n}` }),
        ),
      )
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    }
  }),
  it('refuses unknown conversations and versions that are not numbers', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const { id } = conversation
    const unknown = store.ifVersion(noConversation, 1).updateConversation(noConversation, { title: 'x' })
    const missing: NotFoundError = await rejects(unknown, 'not_found')
    assert.equal(missing.kind, 'conversation')
    for (const version of [-1, 1.5, '1', [Number.NaN]] as number[]) {
      const error: InvalidError = await rejects(
        (async () => store.ifVersion(id, version).trash(id))(),
        'invalid',
      )
      assert.equal(error.field, 'version')
    }
    await rejects(store.ifVersion(id, []).trash(id), 'precondition_failed')
  }),
]
