import { strict as assert } from 'node:assert'
import type { NotFoundError } from '../../core/errors.ts'
import type { EventType, NewEvent, TraceEvent } from '../../core/event.ts'
import type { Page } from '../../core/listing.ts'
import { collectPages } from '../../core/pages.ts'
import { casesOf, noConversation, rejects, startConversation, writers } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('events')

/** Events with their number in `data.i`. */
function many(count: number, from = 0, type: EventType = 'plan'): readonly NewEvent[] {
  return Array.from({ length: count }, (_, i) => ({
    type,
    data: { i: from + i },
  }))
}

export const eventsCases: readonly ContractCase[] = [
  it('keeps events in the order in which they were added, counted from 0', async ({ store, clock }) => {
    const { conversation } = await startConversation(store)
    const { id } = conversation
    const now = new Date(clock.now)
    await store.addEvents(id, [{ type: 'turn_started', data: { turn: 'a' } }, { type: 'tool_started' }])
    clock.now += 10
    const told = new Date('2020-02-02T02:02:02.002Z')
    await store.addEvents(id, [{ type: 'tool_ended', createdAt: told, data: { ok: true } }])
    assert.deepEqual(await collectPages(page => store.listEvents(id, page)), [
      { conversationId: id, n: 0, type: 'turn_started', createdAt: now, data: { turn: 'a' } },
      { conversationId: id, n: 1, type: 'tool_started', createdAt: now, data: {} },
      { conversationId: id, n: 2, type: 'tool_ended', createdAt: told, data: { ok: true } },
    ])
  }),

  it('counts the events of each conversation separately', async ({ store }) => {
    const first = (await startConversation(store)).conversation.id
    const second = (await startConversation(store)).conversation.id
    await store.addEvents(first, many(2))
    await store.addEvents(second, many(1, 100))
    await store.addEvents(first, many(1, 2))
    const listed = async (id: typeof first) =>
      (await collectPages(page => store.listEvents(id, page))).map(event => [event.n, event.data.i])
    assert.deepEqual(await listed(first), [
      [0, 0],
      [1, 1],
      [2, 2],
    ])
    assert.deepEqual(await listed(second), [[0, 100]])
    assert.deepEqual(
      await collectPages(async page =>
        store.listEvents((await startConversation(store)).conversation.id, page),
      ),
      [],
    )
  }),

  it('filters events by type, starts after a number and stops at a limit', async ({ store }) => {
    const { id } = (await startConversation(store)).conversation
    const types = [
      'turn_started',
      'tool_started',
      'tool_ended',
      'turn_ended',
      'plan',
      'tool_started',
    ] as const
    await store.addEvents(
      id,
      types.map(type => ({ type })),
    )
    const numbers = async (options: Parameters<typeof store.listEvents>[1]) =>
      (await store.listEvents(id, options)).items.map(event => event.n)
    const { next } = await store.listEvents(id, { limit: 2 })
    const after = { after: next! }
    assert.deepEqual(await numbers({}), [0, 1, 2, 3, 4, 5])
    assert.deepEqual(await numbers({ types: ['tool_started'] }), [1, 5])
    assert.deepEqual(await numbers({ types: ['plan', 'turn_started'] }), [0, 4])
    assert.deepEqual(await numbers({ types: ['degraded'] }), [])
    assert.deepEqual(await numbers({ ...after }), [2, 3, 4, 5])
    assert.deepEqual(await numbers({ limit: 2 }), [0, 1])
    assert.deepEqual(await numbers({ ...after, limit: 3 }), [2, 3, 4])
    assert.deepEqual(await numbers({ ...after, types: ['tool_started', 'turn_ended'], limit: 1 }), [3])
    const descending = { order: 'descending' } as const
    assert.deepEqual(await numbers({ ...descending }), [5, 4, 3, 2, 1, 0])
    assert.deepEqual(await numbers({ ...descending, limit: 2 }), [5, 4])
    assert.deepEqual(
      await numbers({ ...descending, types: ['tool_started', 'tool_ended'], limit: 2 }),
      [5, 2],
    )
    assert.deepEqual(await numbers({ ...descending, ...after }), [0])
  }),

  it('reads many events in pages without gaps or duplicates', async ({ store }) => {
    const { id } = (await startConversation(store)).conversation
    for (let from = 0; from < 2_500; from += 500) await store.addEvents(id, many(500, from))
    const all = Array.from({ length: 2_500 }, (_, i) => i)
    const read: number[] = []
    for (let after: string | null | undefined; after !== null; ) {
      const page: Page<TraceEvent> = await store.listEvents(id, { limit: 300, ...(after ? { after } : {}) })
      assert.ok(page.items.length <= 300)
      read.push(...page.items.map(event => event.data.i as number))
      after = page.next
    }
    assert.deepEqual(read, all)
  }),

  it('keeps any JSON data', async ({ store }) => {
    const { id } = (await startConversation(store)).conversation
    const data = {
      nested: [{ deep: [null, true, -0.5, 1e21] }],
      'a key with "quotes" \\ and ✨': "it's; drop table --",
      nul: '\u0000\u0001',
      text: '日本語 العربية 👩‍👩‍👧 e\u0301',
      long: 'x'.repeat(50_000),
      empty: {},
    }
    await store.addEvents(id, [{ type: 'permission', data }])
    const [event] = await collectPages(page => store.listEvents(id, page))
    assert.deepEqual(event?.data, data)
  }),

  it('accepts every event type', async ({ store }) => {
    const { id } = (await startConversation(store)).conversation
    const types: Record<EventType, true> = {
      turn_started: true,
      turn_ended: true,
      tool_started: true,
      tool_ended: true,
      resume: true,
      approval_requested: true,
      permission: true,
      plan: true,
      agent_update: true,
      agent_settings: true,
      channel_edit: true,
      channel_delete: true,
      degraded: true,
      recovered: true,
      dispatch_started: true,
      dispatch_ended: true,
      message_erased: true,
      stop_requested: true,
    }
    const names = Object.keys(types) as EventType[]
    await store.addEvents(
      id,
      names.map(type => ({ type })),
    )
    assert.deepEqual(
      (await collectPages(page => store.listEvents(id, page))).map(event => event.type),
      names,
    )
  }),

  it('increments the version and changes no message', async ({ store }) => {
    const { conversation, branch } = await startConversation(store)
    const before = await store.getBranch(branch)
    await store.addEvents(conversation.id, many(3))
    const after = await store.getConversation(conversation.id)
    assert.ok(after.version > conversation.version)
    assert.equal(after.messages, 3)
    assert.equal((await store.getBranch(branch)).head, before.head)
  }),

  it('adds all events or none', async ({ store }) => {
    const { id } = (await startConversation(store)).conversation
    const version = await store.versionOf(id)
    const bad = [
      { type: 'no_such_type' as EventType },
      { type: 'plan', data: { n: Number.NaN } },
      { type: 'plan', data: [] as never },
      { type: 'plan', createdAt: new Date(Number.NaN) },
    ] as const
    for (const event of bad) {
      await rejects(store.addEvents(id, [{ type: 'plan' }, event]), 'invalid')
    }
    await rejects(store.addEvents(id, [] as never), 'invalid')
    assert.deepEqual(await collectPages(page => store.listEvents(id, page)), [])
    assert.equal(await store.versionOf(id), version)
    await store.addEvents(id, many(1))
    assert.equal((await collectPages(page => store.listEvents(id, page)))[0]?.n, 0)
  }),

  it('refuses events of a missing conversation', async ({ store }) => {
    for (const ask of [
      () => store.addEvents(noConversation, many(1)),
      () => collectPages(page => store.listEvents(noConversation, page)),
    ]) {
      const error = await rejects<NotFoundError>(ask(), 'not_found')
      assert.deepEqual([error.kind, error.id], ['conversation', noConversation])
    }
  }),

  it('refuses an invalid limit or cursor', async ({ store }) => {
    const { id } = (await startConversation(store)).conversation
    await store.addEvents(id, many(3))
    await rejects(store.listEvents(id, { limit: 0 }), 'invalid')
    await rejects(store.listEvents(id, { limit: 1.5 }), 'invalid')
    await rejects(store.listEvents(id, { after: 'no cursor' }), 'invalid')
    await rejects(store.listEvents(id, { types: ['no_such_type' as EventType] }), 'invalid')
  }),

  it(
    'numbers the events of eight concurrent writers without gaps or duplicates',
    async world => {
      const { store } = world
      const { id } = (await startConversation(store)).conversation
      const racers = await writers(world)
      for (let round = 0; round < 20; round++) {
        await Promise.all(racers.map((handle, i) => handle.addEvents(id, many(2, i * 100 + round * 2))))
      }
      const listed = await collectPages(page => store.listEvents(id, { limit: 1_000, ...page }))
      assert.deepEqual(
        listed.map(event => event.n),
        Array.from({ length: 320 }, (_, i) => i),
      )
      for (const i of racers.keys()) {
        const own = listed.map(event => event.data.i as number).filter(n => Math.floor(n / 100) === i)
        assert.deepEqual(
          own,
          Array.from({ length: 40 }, (_, n) => i * 100 + n),
        )
      }
    },
    'second handle',
  ),
]
