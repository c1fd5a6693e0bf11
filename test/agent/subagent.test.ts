import { expect, it } from 'vitest'
import { createAgent } from '../../src/agent/agent.ts'
import { subagent } from '../../src/agent/subagent.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import { openStore, textOf } from '../../src/index.ts'
import { type ScriptedReply, scripted } from '../../src/models/scripted.ts'
import { eventsOf, said, told } from './build.ts'

const asks = (task: string) => ({ calls: [{ name: 'reader', input: { task } }] })
const whale = { text: 'It is about a whale.', usage: { input: 100, output: 10 } }

async function reading(answers: readonly ScriptedReply[], script: readonly ScriptedReply[]) {
  const store = await openStore(':memory:')
  const reader = subagent(
    { name: 'reader', description: 'Reads', model: scripted({ script: answers }), store },
    { uuid: () => 'run-1' },
  )
  const agent = createAgent({ store, model: scripted({ script }), tools: { reader } })
  return { store, agent, [Symbol.asyncDispose]: () => store.close() }
}

it('runs in a conversation of its own, labelled and linked to the message with the call (S3-75)', async () => {
  await using here = await reading([whale], [asks('What is Moby Dick about?'), 'A whale, I hear.'])
  await here.agent.ask('books', 'What is Moby Dick about?')
  expect(await said(here.store, 'books')).toEqual([
    'user: What is Moby Dick about?',
    'assistant: [reader]',
    'tool_result: "It is about a whale."',
    'assistant: A whale, I hear.',
  ])
  const { conversation, branch } = (await here.store.findByKey('books'))!
  const path = await pathOf(here.store, branch.head!)
  const { items } = await here.store.listConversations({ parent: conversation.id })
  expect(items).toMatchObject([
    {
      kind: 'subagent',
      label: 'subagent:reader:run-1',
      parent: { conversationId: conversation.id, messageId: path[1]!.id },
    },
  ])
  const trace = await pathOf(here.store, items[0]!.branch.head!)
  expect(trace.map(message => [message.role, textOf(message), message.label])).toEqual([
    ['user', 'What is Moby Dick about?', 'subagent:reader:run-1'],
    ['assistant', 'It is about a whale.', null],
  ])
  const ended = await collectPages(page =>
    here.store.listEvents(conversation.id, { types: ['tool_ended'], ...page }),
  )
  expect(ended[0]?.data).toMatchObject({ subagent: 'reader', run: 'run-1', conversation: items[0]!.id })
})

it('lists runs by the name of the subagent and by the run, in the directory of the caller (S3-74)', async () => {
  await using store = await openStore(':memory:')
  let runs = 0
  const source = { uuid: () => `run-${++runs}` }
  const model = scripted({ script: ['One.', 'Two.', 'Three.'] })
  const named = (name: string) => subagent({ name, description: 'Reads', model, store }, source)
  const call = (name: string, task: string) => ({ name, input: { task } })
  const script = [
    { calls: [call('reader', 'first'), call('readers', 'other'), call('reader', 'second')] },
    'Done.',
  ]
  const tools = { reader: named('reader'), readers: named('readers') }
  await using agent = createAgent({ store, model: scripted({ script }), tools })
  await agent.ask({ key: 'books', directory: '/books', project: 'p', task: 't' }, 'go')
  const labels = async (labelPrefix: string) =>
    (
      await store.listConversations({ kind: 'subagent', directory: '/books', project: 'p', labelPrefix })
    ).items
      .map(one => one.label)
      .sort()
  const reads = (await labels('subagent:reader:')).map(label => label!.split(':')[2]!)
  expect(reads).toHaveLength(2)
  expect(await labels('subagent:')).toHaveLength(3)
  expect(await labels(`subagent:reader:${reads[0]}`)).toEqual([`subagent:reader:${reads[0]}`])
  expect(await store.countConversations({ kind: 'main', labelPrefix: 'subagent:' })).toBe(0)
  // All messages of the run are in its own conversation.
  const [run] = (await store.listConversations({ labelPrefix: `subagent:reader:${reads[0]}` })).items
  const messages = await store.listMessages({ conversationId: run!.id, order: 'ascending' })
  expect(messages.items.map(message => message.role)).toEqual(['user', 'assistant'])
  expect((await store.findByTask('t', 'p'))?.conversation.kind).toBe('main')
})

it('adds its usage to the reply of the calling agent, and stores it once', async () => {
  const final = { text: 'A whale.', usage: { input: 7, output: 2 } }
  const call = { ...asks('read'), usage: { input: 5, output: 1 } }
  await using here = await reading([whale], [call, final])
  const { usage } = await here.agent.ask('books', 'go')
  expect(usage).toMatchObject({ input: 112, output: 13 })
  const all = (await here.store.listConversations()).items
  const used = Object.fromEntries(all.map(one => [one.kind, one.tokensUsed]))
  expect(used).toEqual({ main: 15, subagent: 110 })
})

it('emits its events in the run of the calling agent', async () => {
  await using here = await reading([whale], [asks('read'), 'done'])
  const events = await eventsOf(here.agent.send('books', 'go'))
  const inner = events.flatMap(event => (event.type === 'subagent' ? [event.event.type] : []))
  expect(inner).toContain('text')
  expect(inner.at(-1)).toBe('ended')
})

it('returns an error result with its usage if it fails', async () => {
  await using here = await reading([{ fail: 500 }], [asks('read'), 'It could not be read.'])
  const { text } = await here.agent.ask('books', 'go')
  expect(text).toBe('It could not be read.')
  expect((await said(here.store, 'books'))[2]).toContain('reader failed')
})

it('stops with the run of the calling agent, and keeps its messages', async () => {
  const endless = {
    text: 'It begins',
    gate: (n: number) => (n === 1 ? new Promise(() => undefined) : Promise.resolve()),
  }
  await using here = await reading([endless], [asks('read')])
  const run = here.agent.send('books', 'go')
  for await (const event of run) {
    if (event.type === 'subagent' && event.event.type === 'text') run.abort()
  }
  expect((await run.result()).status).toBe('interrupted')
  const { conversation } = (await here.store.findByKey('books'))!
  const { items } = await here.store.listConversations({ parent: conversation.id })
  // The subagent ends a moment after the calling run.
  await expect
    .poll(async () =>
      (await collectPages(page => here.store.listTurns(items[0]!.id, page))).map(turn => turn.status),
    )
    .toEqual(['interrupted'])
  expect(
    textOf((await pathOf(here.store, (await here.store.getBranch(items[0]!.branch)).head!)).at(-1)!),
  ).toBe('It')
})

it('runs its task in a new conversation, not in an existing one', async () => {
  await using here = await reading([whale, whale], [asks('one'), 'ok', asks('two'), 'ok'])
  await here.agent.ask('books', 'first')
  await told(here.agent.send('books', 'second'), 'ended')
  expect((await here.store.listConversations({ kind: 'subagent' })).items.length).toBe(2)
})
