import type { Branch } from '../../src/core/branch.ts'
import type { Holder } from '../../src/core/errors.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import type { Source } from '../../src/core/source.ts'

/** A clock that advances with every call, and counted ids: the sample below is always the same on an
 *  engine, including its hashes. */
export function steadySource(
  start = Date.UTC(2026, 0, 1),
): Source & { now: () => number; set(time: number): void } {
  let time = start
  let made = 0
  return {
    now: () => (time += 7),
    set: to => {
      time = to
    },
    uuid: () => `5e1f0000-0000-4000-8000-${(++made).toString(16).padStart(12, '0')}`,
  }
}

export interface Everything {
  /** All of them, including the trashed one. */
  readonly ids: readonly ConversationId[]
  readonly talk: ConversationId
  readonly tree: ConversationId
  readonly blobs: ConversationId
  readonly open: ConversationId
  readonly trashed: ConversationId
  /** A message that was erased, one that was deleted, and one that was deleted and stored again. */
  readonly erased: MessageId
  readonly deleted: MessageId
  readonly again: MessageId
}

const holder: Holder = { host: 'sample', boot: 'boot-1', pid: 4711, startedAt: 1_767_000_000_000 }

/** Text that has broken parsers. */
export const hostile = [
  'größe 語 👩‍👩‍👧‍👦 \u202egnirts\u202c',
  'NUL \u0000, bell \u0007, escape \u001b[31m, delete \u007f, lines \u2028\u2029',
  'lone \ud83d surrogate \udc4b',
  '{"kind":"message","id":"x"}\n{"kind":"end"}',
  `'; DROP TABLE skein_messages; --`,
  '\\u0000 \\" \\\\ </script><!-- ]]> %s %00',
  '\ufeffBOM and trailing space \r\n\t ',
]

/** Fills an empty store with one of each kind of data, and with the remains of deleted data. Uses only the
 *  methods of the store. */
export async function fillWithEverything(store: Store): Promise<Everything> {
  const talk = await fillTalk(store)
  const tree = await fillTree(store)
  const blobs = await fillBlobs(store)
  const open = await fillOpenTurn(store)
  const strange = await fillStrange(store)
  const subagent = await store.create({
    kind: 'subagent',
    label: 'subagent:scout:1',
    parent: { conversationId: talk.id, messageId: talk.erased },
  })
  await store.append(subagent.branch, null, [{ role: 'user', content: 'look around' }])
  const empty = await store.create({ title: 'Nothing was said' })
  const trashed = await store.create({ key: 'sample:trashed', title: 'Out of sight' })
  await store.append(trashed.branch, null, [{ role: 'user', content: 'throw this away' }])
  await store.trash(trashed.conversation.id)
  const task = await store.create({ task: 'sample-task', expiresAt: new Date(Date.UTC(2026, 0, 2)) })
  await store.append(task.branch, null, [{ role: 'user', content: 'a task that has expired' }])
  return {
    ids: [
      talk.id,
      tree.id,
      blobs,
      open,
      strange,
      subagent.conversation.id,
      empty.conversation.id,
      trashed.conversation.id,
      task.conversation.id,
    ],
    talk: talk.id,
    tree: tree.id,
    blobs,
    open,
    trashed: trashed.conversation.id,
    erased: talk.erased,
    deleted: tree.deleted,
    again: tree.again,
  }
}

/** Turns with tools and usage, a prompt, links, a summary, events, an agent link. One message is erased. */
async function fillTalk(store: Store): Promise<{ id: ConversationId; erased: MessageId }> {
  const { conversation, branch } = await store.create({
    key: 'sample:talk',
    title: 'Why is the build red?',
    model: 'scripted',
    label: 'build',
    channel: 'cli',
    directory: '/home/someone/project',
    project: 'project',
    task: 'task-1',
    owner: 'someone',
    promptPolicy: 'stored',
    prompt: 'You are helpful.\n\nBe brief. 語',
    toolResults: { truncate: 4_000 },
    metadata: { priority: 3, nested: { list: [1, 'two', null] }, done: false, ümlaut: 'x' },
    tags: ['red', 'build', 'ümlaut'],
    ttlMs: 30 * 86_400_000,
  })
  const { id } = conversation
  const asked = await store.append(
    branch,
    null,
    [{ role: 'user', content: 'why is the build red?', label: 'question' }],
    {
      turn: {
        key: 'turn-1',
        step: 0,
        status: 'open',
        holder,
        model: 'scripted',
        promptHash: 'p1',
        usage: { input: 12 },
      },
    },
  )
  const called = await store.append(
    branch,
    asked.head,
    [call('call_1', 'read_file', { path: 'build.log' })],
    {
      turn: { key: 'turn-1', step: 1, status: 'open', holder, usage: { input: 20, output: 9, cost: 0.0125 } },
    },
  )
  const answered = await store.append(
    branch,
    called.head,
    [
      result('call_1', 'error: no such file', true),
      { role: 'assistant', content: 'It is not there.', metadata: { n: 1 } },
    ],
    {
      turn: {
        key: 'turn-1',
        step: 2,
        status: 'complete',
        holder,
        usage: { output: 5, reasoning: 2, cost: 0.001 },
      },
    },
  )
  const secret = await store.append(branch, answered.head, [
    { role: 'user', content: 'my password is hunter2', tokens: 6 },
    { role: 'assistant', content: [{ type: 'thinking', text: 'hm', metadata: { signature: 'c2lnbmVk' } }] },
    { role: 'system', content: 'be careful' },
  ])
  const cut = await store.append(branch, secret.head, [{ role: 'user', content: 'tell me a long story' }], {
    turn: { key: 'turn-2', step: 0, status: 'open', holder },
  })
  await store.putDraft(id, 'turn-2', holder, [{ n: 0, type: 'text', text: 'Once upon' }])
  await store.endTurn(id, 'turn-2', { status: 'interrupted', heldBy: holder, usage: { output: 2 } })
  await store.eraseMessages([secret.ids[0]], { by: 'someone', reason: 'a password 語' })
  await summarise(store, id, asked.ids[0], answered.head, 'They looked for the log.')
  await summarise(store, id, asked.ids[0], cut.head, 'They looked for the log and spoke of a secret.')
  await store.addEvents(id, [
    { type: 'turn_started', data: { key: 'turn-1' } },
    { type: 'tool_started', data: { callId: 'call_1', odd: '\u0000\ud83d' } },
    { type: 'turn_ended' },
  ])
  const link = { agent: 'claude-code', directory: '/home/someone/project', foreignId: 'abc-1' }
  await store.setAgentLink(branch, { ...link, seen: answered.head })
  await store.setAgentLink(branch, { ...link, directory: `/${'d'.repeat(3_000)}`, seen: null })
  return { id, erased: secret.ids[0] }
}

/** Forks, several roots, branches with keys and titles, one reset branch, deleted leaves and subtrees. */
async function fillTree(store: Store): Promise<{ id: ConversationId; deleted: MessageId; again: MessageId }> {
  const { conversation, branch } = await store.create({ key: 'sample:tree' })
  const { id } = conversation
  const trunk = await store.append(branch, null, [
    say('root'),
    say('a1', 'assistant'),
    say('a2'),
    say('a3', 'assistant'),
  ])
  const [, a1] = trunk.ids
  const side = await store.createBranch(id, a1!, { name: 'side', key: 'sample:side', title: 'The other way' })
  const grown = await store.append(side, a1!, [say('b1'), say('b2', 'assistant')])
  const saved = await store.save(id, [
    { message: say('a second root'), parent: null },
    { message: say('below it', 'assistant'), parent: { item: 0 } },
    { message: say('c1'), parent: a1! },
    { message: say('c2', 'assistant'), parent: { item: 2 } },
    { message: say('c3'), parent: { item: 3 } },
  ])
  await store.createBranch(id, saved[1]!, { name: 'roots/second' })
  const doomed = await store.createBranch(id, saved[4]!, { name: 'doomed' })
  await store.deleteMessages([saved[3]!], { recursive: true, reason: 'a wrong turn' })
  await store.deleteMessages([grown.head])
  await store.append(await store.getBranch(doomed), saved[2]!, [say('after the deletion', 'assistant')])
  const again = await sayAgain(store, await store.getBranch(branch), trunk.head)
  await store.activateBranch(side)
  const { branch: fresh } = await store.reset(await store.getBranch(branch))
  await store.append(fresh, null, [say('a fresh start')])
  return { id, deleted: grown.head, again }
}

/** An equal message in the same millisecond, after the first one was deleted: the id exists next to its own
 *  tombstone. */
async function sayAgain(store: Store, branch: Branch, head: MessageId): Promise<MessageId> {
  const words: NewMessage = {
    role: 'user',
    content: 'say it again',
    createdAt: new Date(Date.UTC(2026, 0, 5)),
  }
  const first = await store.append(branch, head, [words], { turn: { key: 'once', step: 0 } })
  await store.deleteMessages([first.head])
  const second = await store.append(branch, head, [words], { turn: { key: 'twice', step: 0 } })
  return second.head
}

/** Large texts and payloads, some of them more than once. */
async function fillBlobs(store: Store): Promise<ConversationId> {
  const { conversation, branch } = await store.create({ title: 'Large things' })
  const long = 'long text 語 '.repeat(3_000)
  const bytes = Buffer.from(Array.from({ length: 40_000 }, (_, i) => (i * 31 + (i >> 8)) % 256))
  const { ids } = await store.append(branch, null, [
    { role: 'user', content: long },
    { role: 'assistant', content: [{ type: 'text', text: long }], metadata: { copy: long, $blob: 'mine' } },
    {
      role: 'user',
      content: [
        { type: 'image', mime: 'image/png', data: bytes.toString('base64'), name: '../../etc/passwd' },
        { type: 'text', text: `${'\ud83d'}${'x'.repeat(20_000)}` },
      ],
    },
    { role: 'user', content: 'only here: '.repeat(2_000) },
  ])
  await store.eraseMessages([ids[3]!], { by: 'someone', reason: 'large and private' })
  return conversation.id
}

/** An open turn. */
async function fillOpenTurn(store: Store): Promise<ConversationId> {
  const { conversation, branch } = await store.create({ title: 'Still talking' })
  await store.append(branch, null, [say('more')], {
    turn: { key: 'open-turn', step: 0, status: 'open', holder, model: 'scripted' },
  })
  await store.putDraft(conversation.id, 'open-turn', holder, [
    { n: 0, type: 'thinking', text: 'half a pair: \ud83d' },
    { n: 1, type: 'text', text: '\udc4b and NUL \u0000' },
  ])
  return conversation.id
}

async function fillStrange(store: Store): Promise<ConversationId> {
  const { conversation, branch } = await store.create({ title: `${'t'.repeat(500)} \u202e "quoted" \\ 語` })
  let head: MessageId | null = null
  for (const text of hostile) {
    const message: NewMessage = {
      role: 'user',
      content: [{ type: 'text', text }],
      metadata: { [text]: text, list: [text] },
    }
    head = (await store.append(branch, head, [message])).head
  }
  await store.append(branch, head, [
    { role: 'assistant', content: [] },
    {
      role: 'assistant',
      content: [{ type: 'x-plan', z: 1, a: [0.1, 1e21, -5, true, null] } as never],
      metadata: {},
    },
    { role: 'user', content: '', createdAt: new Date(0), tokens: 0 },
    { role: 'user', content: 'at the end of time', createdAt: new Date(253_402_300_799_999), label: 'end' },
  ])
  return conversation.id
}

async function summarise(store: Store, id: ConversationId, first: MessageId, last: MessageId, text: string) {
  await store.claimSummary(id, { first, last }, holder)
  await store.putSummary(id, { first, last, tokens: 9, text, model: 'scripted', holder })
}

function say(text: string, role: 'user' | 'assistant' = 'user'): NewMessage {
  return { role, content: text }
}

function call(callId: string, name: string, input: object): NewMessage {
  return { role: 'assistant', content: [{ type: 'tool_call', callId, name, input: input as never }] }
}

function result(callId: string, output: string, isError: boolean): NewMessage {
  return { role: 'tool_result', content: [{ type: 'tool_result', callId, output, isError }] }
}
