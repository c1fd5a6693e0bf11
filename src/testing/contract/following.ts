import { strict as assert } from 'node:assert'
import type { ActivityEvent, FollowEvent, FollowOptions } from '../../core/follow.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import { textOf } from '../../core/message.ts'
import type { Store } from '../../core/ports.ts'
import {
  appendTexts,
  casesOf,
  grow,
  holder,
  noConversation,
  rejects,
  say,
  startConversation,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('following')

/** An event as one line. */
function line(event: FollowEvent): string {
  switch (event.type) {
    case 'message':
      return `message ${textOf(event.message)}`
    case 'erased':
      return `erased ${event.message.seq} ${textOf(event.message)}`
    case 'approval':
      return `approval ${event.approval.id} ${event.approval.status}`
    case 'turn':
      return `turn ${event.turn.key} ${event.turn.status}`
    case 'draft':
      return `draft ${event.pieces.map(piece => `${piece.n}${piece.text}`).join(' ')}`
    case 'branch':
      return `branch ${event.branch.name}`
    case 'branch_deleted':
      return `branch_deleted ${event.name}`
    case 'branches':
      return `branches ${event.branches.map(branch => branch.name).join(' ')}`
    case 'conversation':
      return `conversation ${event.conversation.trashedAt === null ? event.conversation.title : 'trashed'}`
    case 'gone':
      return 'gone'
  }
}

/** Reads events until one has this line. Returns the lines, and the cursor of the last event. */
async function until(events: AsyncIterator<FollowEvent>, last: string) {
  const lines: string[] = []
  for (;;) {
    const { value, done } = await events.next()
    assert.ok(!done, `it ended before ${last}: ${lines.join(', ')}`)
    lines.push(line(value))
    if (lines.at(-1) === last) return { lines, cursor: value.cursor }
    assert.ok(lines.length < 1_000, `no ${last} among 1,000 events`)
  }
}

/** Starts to follow. `end` ends the iteration. */
function following(store: Store, id: ConversationId, options: FollowOptions = {}) {
  const stop = new AbortController()
  const events = store.follow(id, { ...options, signal: stop.signal })[Symbol.asyncIterator]()
  const end = async () => {
    stop.abort()
    assert.equal((await events.next()).done, true)
  }
  return { events, end }
}

/** The lines after a cursor, up to a marker that is stored now. */
async function linesAfter(store: Store, id: ConversationId, cursor: string): Promise<string[]> {
  const { events, end } = following(store, id, { after: cursor })
  await store.updateConversation(id, { title: 'the end' })
  const { lines } = await until(events, 'conversation the end')
  await end()
  return lines.slice(0, -1)
}

const turn = { key: 't', step: 0, status: 'open', holder: holder() } as const

export const followingCases: readonly ContractCase[] = [
  it('begins with the branches, and delivers messages and branches as they come', async ({ store }) => {
    const { conversation, branch } = await startConversation(store)
    const { events, end } = following(store, conversation.id)
    assert.deepEqual((await until(events, 'branches main')).lines, ['branches main'])
    await appendTexts(store, branch, 'four', 'five')
    assert.deepEqual((await until(events, 'branch main')).lines, [
      'message four',
      'message five',
      'branch main',
    ])
    await store.createBranch(conversation.id, null, { name: 'side' })
    assert.deepEqual((await until(events, 'branch side')).lines, ['branch side'])
    await store.renameBranch({ conversationId: conversation.id, name: 'side' }, 'other')
    assert.deepEqual((await until(events, 'branch other')).lines, ['branch_deleted side', 'branch other'])
    await store.updateConversation(conversation.id, { title: 'New' })
    assert.deepEqual((await until(events, 'conversation New')).lines, ['conversation New'])
    await end()
  }),
  it('tells a follower once that a message it has was erased, also after a cursor', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const { events, end } = following(store, conversation.id)
    const { cursor } = await until(events, 'branches main')
    const erase = (id: MessageId) => store.eraseMessages([id], { by: 'ada', reason: 'a password' })
    await erase(ids[1])
    assert.deepEqual((await until(events, 'erased 1 ')).lines, ['erased 1 '])
    await erase(ids[1])
    const { ids: later } = await appendTexts(store, branch, 'four', 'five')
    const told = await until(events, 'branch main')
    assert.deepEqual(told.lines, ['message four', 'message five', 'branch main'])
    await erase(later[0]!)
    assert.deepEqual((await until(events, 'erased 3 ')).lines, ['erased 3 '])
    await end()
    // A message that was erased before it was delivered comes as an erased message, and no second time.
    assert.deepEqual(await linesAfter(store, conversation.id, cursor), [
      'message ',
      'message five',
      'erased 1 ',
      'branches main',
    ])
    assert.deepEqual(await linesAfter(store, conversation.id, told.cursor), ['erased 3 '])
    const data = (await store.listEvents(conversation.id, { types: ['message_erased'] })).items
    assert.deepEqual(
      data.map(event => event.data),
      [{ message: ids[1] }, { message: later[0] }],
    )
  }),
  it('marks what it catches up with, and only that, as a replay', async ({ store }) => {
    const { conversation, branch } = await startConversation(store)
    const first = following(store, conversation.id)
    const { cursor } = await until(first.events, 'branches main')
    await appendTexts(store, branch, 'four')
    assert.equal((await first.events.next()).value?.isReplay, false)
    await first.end()
    const { events, end } = following(store, conversation.id, { after: cursor })
    const replayed = [(await events.next()).value, (await events.next()).value]
    assert.deepEqual(
      replayed.map(event => event && [line(event), event.isReplay]),
      [
        ['message four', true],
        ['branches main', true],
      ],
    )
    await appendTexts(store, branch, 'five')
    const { value } = await events.next()
    assert.deepEqual(value && [line(value), value.isReplay], ['message five', false])
    // More than one read returns.
    await until(events, 'branch main')
    await appendTexts(store, branch, ...Array.from({ length: 60 }, (_, n) => `${n}`))
    assert.equal((await events.next()).value?.isReplay, true)
    await end()
  }),
  it('refuses an unknown conversation and what is not a cursor', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const unknown = store.follow(noConversation)[Symbol.asyncIterator]()
    await rejects(unknown.next(), 'not_found')
    // The call itself refuses it: a service can still answer with a status.
    const open = async (id: ConversationId, options?: FollowOptions) => store.follow(id, options)
    const cursorOf = (place: unknown) => Buffer.from(JSON.stringify(place)).toString('base64url')
    const places = [
      [1, 2, 3, '', '', [[1]]],
      [1, 2 ** 31, 0, 0, '', '', []],
      [1, 0, 0, 0, '', '', [[0, 0, 0]]],
    ]
    for (const after of ['', 'x', 'WzFd', ...places.map(cursorOf)])
      await rejects(open(conversation.id, { after }), 'invalid')
    await rejects(open('x' as ConversationId), 'invalid')
    await rejects(open(conversation.id, { blobs: 'none' as 'whole' }), 'invalid')
    for (const after of ['', 'x', cursorOf([]), cursorOf(['1']), cursorOf([1e300]), cursorOf([1, 2])]) {
      await rejects((async () => store.followActivity({ after }))(), 'invalid')
      await rejects((async () => store.followTasks({ after }))(), 'invalid')
    }
  }),
  it('follows a turn: its beginning, the pieces of its draft, its messages, its end', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const { events, end } = following(store, conversation.id)
    await until(events, 'branches main')
    await store.append(branch, ids[2], [say('q')], { turn })
    assert.deepEqual((await until(events, 'branch main')).lines, ['message q', 'turn t open', 'branch main'])
    const piece = (n: number, text: string) => ({ n, type: 'text', text }) as const
    await store.putDraft(conversation.id, 't', holder(), [piece(0, 'a'), piece(1, 'b')])
    assert.deepEqual((await until(events, 'draft 0a 1b')).lines, ['draft 0a 1b'])
    await store.putDraft(conversation.id, 't', holder(), [piece(2, 'c')])
    assert.deepEqual((await until(events, 'draft 2c')).lines, ['draft 2c'])
    const { head } = await store.getBranch(branch)
    const step = { ...turn, step: 1 }
    await store.append(branch, head, [say('abc', 'assistant')], { turn: step })
    assert.deepEqual((await until(events, 'branch main')).lines, [
      'message abc',
      'turn t open',
      'branch main',
    ])
    // The next answer begins with piece 0 again.
    await store.putDraft(conversation.id, 't', holder(), [piece(0, 'x')])
    assert.deepEqual((await until(events, 'draft 0x')).lines, ['draft 0x'])
    await store.endTurn(conversation.id, 't', { status: 'interrupted', heldBy: holder() })
    assert.deepEqual((await until(events, 'branch main')).lines, [
      'message x',
      'turn t interrupted',
      'branch main',
    ])
    await store.reopenTurn(branch, holder())
    assert.deepEqual((await until(events, 'turn t open')).lines, ['turn t open'])
    await end()
  }),
  it('tells a new follower of the open turns and their drafts', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await store.append(branch, ids[2], [say('done')], { turn: { key: 'done', step: 0 } })
    const { head } = await store.getBranch(branch)
    await store.append(branch, head, [say('q')], { turn })
    await store.putDraft(conversation.id, 't', holder(), [{ n: 0, type: 'text', text: 'a' }])
    const { events, end } = following(store, conversation.id)
    const { lines, cursor } = await until(events, 'draft 0a')
    assert.deepEqual(lines, ['branches main', 'turn t open', 'draft 0a'])
    await end()
    assert.deepEqual(await linesAfter(store, conversation.id, cursor), [])
  }),
  it('continues behind each cursor without a gap, a duplicate or a repeated state', async ({ store }) => {
    const { conversation, branch } = await startConversation(store)
    const { id } = conversation
    const live = following(store, id)
    const { cursor: start } = await until(live.events, 'branches main')
    await live.end()
    // Everything that can happen between two polls.
    let { head } = await store.append(branch, (await store.getBranch(branch)).head, [say('q')], { turn })
    await store.putDraft(id, 't', holder(), [{ n: 0, type: 'text', text: 'a' }])
    const side = await store.createBranch(id, head, { name: 'side' })
    head = (await store.append(side, head, [say('s'), say('t')], { turn: { key: 'whole', step: 0 } })).head
    await store.updateConversation(id, { title: 'Title' })
    const all = following(store, id, { after: start })
    const lines: string[] = []
    const cursors: string[] = [start]
    for (;;) {
      const { value } = await all.events.next()
      lines.push(line(value!))
      cursors.push(value!.cursor)
      if (lines.at(-1) === 'conversation Title') break
    }
    await all.end()
    assert.deepEqual(lines, [
      'message q',
      'message s',
      'message t',
      'turn t open',
      'draft 0a',
      'turn whole complete',
      'branches main side',
      'conversation Title',
    ])
    for (const [i, after] of cursors.entries()) {
      const rest = following(store, id, { after })
      const expected = lines.slice(i)
      const found = expected.length === 0 ? [] : (await until(rest.events, expected.at(-1)!)).lines
      assert.deepEqual(found, expected, `after ${i} events`)
      await rest.end()
    }
    assert.deepEqual(await linesAfter(store, id, cursors.at(-1)!), [])
  }),
  it('delivers many messages in order, each once, and skips deleted ones', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const { events, end } = following(store, conversation.id)
    const { cursor } = await until(events, 'branches main')
    const messages = Array.from({ length: 230 }, (_, n) => say(`${n}`))
    const { ids } = await store.append(branch, null, messages)
    await until(events, 'branch main')
    await end()
    await store.deleteMessages([ids[229]!])
    const side = await grow(store, conversation.id, { root: null, gone: 'root' })
    await store.deleteMessages([side.gone])
    const expected = [...messages.slice(0, 229).map(({ content }) => `message ${content}`), 'message root']
    const lines = await linesAfter(store, conversation.id, cursor)
    assert.deepEqual(lines, [...expected, 'branches main'])
  }),
  it('reports the trash, and ends when the conversation is purged', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const { events } = following(store, conversation.id)
    const { cursor } = await until(events, 'branches main')
    await store.trash(conversation.id)
    assert.deepEqual((await until(events, 'conversation trashed')).lines, ['conversation trashed'])
    await store.restore(conversation.id)
    await until(events, `conversation ${conversation.title}`)
    await store.trash(conversation.id)
    await store.purge(conversation.id)
    const { lines } = await until(events, 'gone')
    assert.deepEqual(lines.at(-1), 'gone')
    assert.equal((await events.next()).done, true)
    const late = following(store, conversation.id, { after: cursor })
    assert.deepEqual((await until(late.events, 'gone')).lines, ['gone'])
    assert.equal((await late.events.next()).done, true)
  }),
  it('returns previews of blobs if asked', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const { events, end } = following(store, conversation.id, { blobs: 'preview' })
    await until(events, 'branches main')
    await store.append(branch, ids[2], [say('x'.repeat(50_000))])
    const { value } = await events.next()
    assert.ok(value?.type === 'message' && textOf(value.message).length < 2_000)
    await end()
  }),
  it('reports activity in any conversation, and after a cursor what was missed', async ({ store, clock }) => {
    const { branch } = await startConversation(store, { title: 'Old' })
    clock.now += 3_600_000
    const stop = new AbortController()
    const events = store.followActivity({ signal: stop.signal })[Symbol.asyncIterator]()
    const made = await store.create({ title: 'New' })
    // It begins now: the conversation of an hour ago is not reported.
    const value = await renamedUntil(store, made.conversation.id, clock, events.next())
    assert.equal(value.conversation.id, made.conversation.id)
    assert.deepEqual(value.conversation.branch, made.branch)
    assert.match(value.conversation.title!, /^New \d+$/)
    clock.now += 1_000
    await appendTexts(store, branch, 'more')
    let second = (await events.next()).value!
    while (second.conversation.title !== 'Old') second = (await events.next()).value!
    stop.abort()
    assert.equal((await events.next()).done, true)
    clock.now += 3_600_000
    await store.updateConversation(made.conversation.id, { title: 'Renamed' })
    const titles: (string | null)[] = []
    for await (const event of store.followActivity({ after: second.cursor })) {
      titles.push(event.conversation.title)
      if (titles.at(-1) === 'Renamed') break
    }
    // The one of a second ago is repeated.
    assert.deepEqual(titles, ['Old', 'Renamed'])
    for await (const event of store.followActivity({ since: new Date(clock.now) })) {
      assert.equal(event.conversation.title, 'Renamed')
      break
    }
    const bad = { since: new Date(Number.NaN) }
    await rejects((async () => store.followActivity(bad))(), 'invalid')
  }),
  it(
    'finds what other processes write',
    async ({ store, second, clock }) => {
      const other = await second()
      const { conversation, branch } = await startConversation(store)
      const stop = new AbortController()
      const activity = other.followActivity({ signal: stop.signal })[Symbol.asyncIterator]()
      const active = activity.next()
      const { events, end } = following(other, conversation.id)
      await until(events, 'branches main')
      const { cursor } = await (async () => {
        await appendTexts(store, branch, 'four')
        return until(events, 'branch main')
      })()
      await store.trash(conversation.id)
      await until(events, 'conversation trashed')
      await end()
      assert.ok((await linesOf(store, conversation.id, cursor)).includes('conversation trashed'))
      const made = await store.create()
      await renamedUntil(store, made.conversation.id, clock, active)
      stop.abort()
    },
    'second handle',
  ),
  it('ends all iterations when the store is closed', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const { events } = following(store, conversation.id)
    await until(events, 'branches main')
    const activity = store.followActivity()[Symbol.asyncIterator]()
    const [one, two] = [events.next(), activity.next()]
    await new Promise(setImmediate)
    await store.close()
    assert.deepEqual([(await one).done, (await two).done], [true, true])
  }),
]

/** The lines of the events that are there after a cursor. */
async function linesOf(store: Store, id: ConversationId, after: string): Promise<string[]> {
  const { events, end } = following(store, id, { after })
  const { value } = await events.next()
  await end()
  return [line(value!)]
}

/** Renames a conversation again and again until a follower has seen activity. */
async function renamedUntil(
  store: Store,
  id: ConversationId,
  clock: { now: number },
  next: Promise<IteratorResult<ActivityEvent>>,
): Promise<ActivityEvent> {
  let seen: ActivityEvent | undefined
  const done = next.then(({ value }) => {
    seen = value
  })
  for (let n = 0; seen === undefined; n++) {
    clock.now += 1
    await store.updateConversation(id, { title: `New ${n}` })
    await Promise.race([done, new Promise(resolve => setTimeout(resolve, 10))])
  }
  return seen
}
