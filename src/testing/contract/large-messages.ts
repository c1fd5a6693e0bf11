import { strict as assert } from 'node:assert'
import { encodeBody } from '../../core/body.ts'
import type { InvalidError } from '../../core/errors.ts'
import { hashMessage } from '../../core/hash.ts'
import type { Json } from '../../core/json.ts'
import { largeFrom } from '../../core/large/weight.ts'
import { contentOf, type NewMessage } from '../../core/message.ts'
import { appendTexts, casesOf, rejects, said } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('large messages')

/** A result of about 1.3 million characters of JSON, with a long string, and one that has no UTF-8. */
function found(): Json[] {
  const files = Array.from({ length: 16_000 }, (_, line) => ({
    path: `src/größe-${line}.ts`,
    line,
    text: 'a line of a file',
  }))
  return [...files, '→'.repeat(20_000), '\ud800'.repeat(20_000)]
}

const result = (output: Json): NewMessage => ({
  role: 'tool_result',
  content: [{ type: 'tool_result', callId: 'c', output }],
})

const long = (first: string): NewMessage => ({
  role: 'user',
  content: `${first} ${'word '.repeat(largeFrom / 4)}`,
})

export const largeMessageCases: readonly ContractCase[] = [
  it('stores a large message as it was at the call, under the id of its content', async ({
    store,
    clock,
  }) => {
    const { conversation, branch } = await store.create()
    const output = found()
    const message = result(output)
    const body = encodeBody(message.content, undefined)
    const before = structuredClone(message.content)
    const appending = store.append(branch, null, [message])
    output.splice(0, output.length, 'changed')
    const { head } = await appending
    assert.equal(head, hashMessage(conversation.id, 'tool_result', clock.now, body.hash))
    const [stored] = await store.getMessages([head])
    assert.deepEqual(contentOf(stored!), before)
    assert.equal((await store.verify()).findings.damage, 0)
  }),
  it('checks a large append like any other: content, head, branch and turn', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const invalid = result([...found(), Number.NaN])
    const { field } = await rejects<InvalidError>(store.append(branch, null, [invalid]), 'invalid')
    assert.equal(field, 'messages[0].content[0].output[16002]')
    await appendTexts(store, branch, 'one')
    await rejects(store.append(branch, null, [long('late')]), 'conflict')
    const none = { conversationId: conversation.id, name: 'none' }
    await rejects(store.append(none, null, [long('nowhere')]), 'not_found')
    assert.deepEqual(await said(store, branch), ['one'])
  }),
  it('returns the result of a large step that is sent again', async ({ store }) => {
    const { branch } = await store.create()
    const turn = { key: 'turn', step: 0 }
    const messages = [long('question')]
    const first = await store.append(branch, null, messages, { turn })
    const again = await store.append(branch, null, messages, { turn })
    assert.deepEqual([again.outcome, again.ids], ['replayed', first.ids])
    assert.equal((await store.getConversation(branch.conversationId)).messages, 1)
  }),
  it('writes large appends that run side by side, each to its branch', async ({ store }) => {
    const created = await Promise.all([0, 1, 2].map(() => store.create()))
    await Promise.all([
      ...created.map(({ branch }, i) => store.append(branch, null, [long(`large ${i}`)])),
      store.create({ key: 'between' }),
    ])
    for (const [i, { branch }] of created.entries())
      assert.equal((await said(store, branch))[0]?.slice(0, 11), `large ${i} wor`)
    assert.notEqual(await store.findByKey('between'), null)
  }),
  it('saves large messages under any parents', async ({ store }) => {
    const { conversation } = await store.create()
    const [root, child] = await store.save(conversation.id, [
      { message: long('root'), parent: null },
      { message: result(found()), parent: { item: 0 } },
    ])
    const [, stored] = await store.getMessages([root, child!])
    assert.equal(stored?.parentId, root)
    assert.deepEqual(contentOf(stored!), result(found()).content)
    const invalid = { message: result([...found(), Number.NaN]), parent: null }
    const { field } = await rejects<InvalidError>(store.save(conversation.id, [invalid]), 'invalid')
    assert.equal(field, 'items[0].message.content[0].output[16002]')
  }),
  it('applies a condition on the version to a large append', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const version = await store.versionOf(conversation.id)
    await appendTexts(store, branch, 'one')
    const head = (await store.getBranch(branch)).head
    const late = store.ifVersion(conversation.id, version).append(branch, head, [long('late')])
    await rejects(late, 'precondition_failed')
    const now = await store.versionOf(conversation.id)
    await store.ifVersion(conversation.id, now).append(branch, head, [long('in time')])
    assert.equal((await said(store, branch)).length, 2)
  }),
]
