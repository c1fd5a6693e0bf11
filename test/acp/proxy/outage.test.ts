import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { UnavailableError } from '../../../src/core/errors.ts'
import { textOf } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { openStore } from '../../../src/index.ts'
import { systemRecorderSource } from '../../../src/system/source.ts'
import { limitedFile } from '../../battery/small-disk.ts'
import { startOwnPostgres } from '../../support/postgres.ts'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'
import { openInProcess } from './in-process.ts'

/** The relay works without the store. */

vi.setConfig({ testTimeout: 120_000 })
const [first, second, third, fourth] = ['first', 'second', 'third', 'fourth'].map(marker) as [
  string,
  string,
  string,
  string,
]

/** A store that can go away. */
function failing(store: Store) {
  const state = { isAway: false }
  const wrapped = Object.fromEntries(
    Object.entries(store).map(([name, method]) => [
      name,
      async (...args: readonly never[]) => {
        if (state.isAway) throw new UnavailableError('the server is away')
        return (method as (...given: readonly never[]) => unknown)(...args)
      },
    ]),
  )
  return { state, store: { ...wrapped, leaseMs: store.leaseMs } as unknown as Store }
}

async function questionsIn(store: Store): Promise<readonly string[]> {
  const [conversation] = (await store.listConversations()).items
  if (!conversation?.branch.head) return []
  const path = await pathOf(store, conversation.branch.head)
  return path.filter(({ role }) => role === 'user').map(textOf)
}

describe('a store that is away', () => {
  it('from the start does not stop the relay, and the turns are stored when it is back', async () => {
    await using real = await openStore(':memory:')
    const { state, store } = failing(real)
    state.isAway = true
    await using proxy = await openInProcess(agentCommand('forgetful'), { store })
    const id = await proxy.begin()
    for (const text of [first, second])
      expect((await proxy.prompt(id, text)).result).toEqual({ stopReason: 'end_turn' })
    expect(proxy.shown(id)).toContain(answerMarker(2))
    expect(proxy.log.filter(line => line.includes('storage: away'))).toHaveLength(1)
    state.isAway = false
    await vi.waitUntil(async () => (await questionsIn(real)).length === 2, { timeout: 20_000, interval: 50 })
    expect(await questionsIn(real)).toEqual([first, second])
    await vi.waitUntil(() => proxy.log.some(line => line.includes('storage: back')), { timeout: 20_000 })
    await proxy.prompt(id, third)
    const { model } = proxy.stage
    expect([first, second, third].map(text => timesGiven(model.last, text))).toEqual([1, 1, 1])
    expect(new Set(model.turns.map(({ sessionId }) => sessionId)).size).toBe(1)
    expect(timesGiven(model.last, '<conversation_history>')).toBe(0)
    expect(await questionsIn(real)).toEqual([first, second, third])
  })

  it('in the middle does not move a living agent into another session', async () => {
    await using real = await openStore(':memory:')
    const { state, store } = failing(real)
    await using proxy = await openInProcess(agentCommand('forgetful'), { store })
    const id = await proxy.begin()
    await proxy.prompt(id, first)
    state.isAway = true
    for (const text of [second, third])
      expect((await proxy.prompt(id, text)).result).toEqual({ stopReason: 'end_turn' })
    const opened = await proxy.begin()
    expect((await proxy.prompt(opened, 'elsewhere')).result).toEqual({ stopReason: 'end_turn' })
    state.isAway = false
    await vi.waitUntil(async () => (await real.listConversations()).items.length === 2, { timeout: 30_000 })
    await proxy.prompt(id, fourth)
    const all = [first, second, third, fourth]
    const { model } = proxy.stage
    expect(all.map(text => timesGiven(model.last, text))).toEqual([1, 1, 1, 1])
    expect(timesGiven(model.last, '<conversation_history>')).toBe(0)
    await vi.waitUntil(async () => (await real.search(fourth)).items.length > 0, { timeout: 30_000 })
    for (const text of all)
      expect((await real.search(`"${text}" role:user`)).items.map(({ snippet }) => snippet)).toHaveLength(1)
  })

  it('at the start of the command is PostgreSQL without a server, which is told once', async () => {
    const postgres = await startOwnPostgres()
    onTestFinished(() => postgres.stop())
    const url = await postgres.createDatabase()
    await postgres.away()
    await using stage = await openStage()
    const editor = await stage.start(behindProxy(agentCommand('forgetful'), '--db', url))
    const id = await editor.newSession()
    await editor.prompt(id, first)
    expect(editor.complaints.match(/storage: away/g)).toHaveLength(1)
    await postgres.back()
    await using store = await openStore(url)
    await vi.waitUntil(async () => (await questionsIn(store)).length === 1, {
      timeout: 40_000,
      interval: 100,
    })
    await editor.prompt(id, second)
    expect([first, answerMarker(1), second].map(text => timesGiven(stage.model.last, text))).toEqual([
      1, 1, 1,
    ])
    expect(await questionsIn(store)).toEqual([first, second])
    expect(editor.complaints.match(/storage: away/g)).toHaveLength(1)
  })
})

describe('a full disk', () => {
  it('does not make the next prompt wait for the lease of the unsaved turn', async () => {
    const disk = await limitedFile()
    disk.free()
    await using proxy = await openInProcess(agentCommand('forgetful'), { store: disk.store })
    const { model } = proxy.stage
    const id = await proxy.begin()
    await proxy.prompt(id, first)
    model.next({ type: 'text', text: 'half' }, { type: 'wait' }, { type: 'text', text: 'x'.repeat(500_000) })
    const running = proxy.prompt(id, second)
    await model.stopped()
    disk.fillUp()
    model.proceed()
    expect((await running).result).toEqual({ stopReason: 'end_turn' })
    expect((await proxy.prompt(id, third)).result).toEqual({ stopReason: 'end_turn' })
    disk.free()
    await proxy.prompt(id, fourth)
    await vi.waitUntil(async () => (await questionsIn(disk.store)).length === 4, { timeout: 40_000 })
    expect(await questionsIn(disk.store)).toEqual([first, second, third, fourth])
    expect(proxy.log.join('\n')).not.toContain('lost')
    // A turn whose lease has expired is taken over, and ends as interrupted.
    const conversation = (await disk.store.listConversations()).items[0]!.id
    await vi.waitUntil(async () => {
      const turns = await collectPages(page => disk.store.listTurns(conversation, page))
      return turns.length === 4 && turns.every(({ status }) => status === 'complete')
    })
    expect([first, second, third, fourth].map(text => timesGiven(model.last, text))).toEqual([1, 1, 1, 1])
  })
})

describe('an error in recording', () => {
  it('costs an update at most: the agent and the relay continue', async () => {
    let isBroken = false
    const source = {
      ...systemRecorderSource,
      after: (...[ms, run, options]: Parameters<typeof systemRecorderSource.after>) => {
        // The pause before an announced call is stored.
        if (isBroken && ms === 200) throw new RangeError('Invalid string length')
        return systemRecorderSource.after(ms, run, options)
      },
    }
    await using proxy = await openInProcess(agentCommand('good'), { source })
    const id = await proxy.begin()
    isBroken = true
    const tool = { type: 'tool', name: 'look', title: 'Look', input: {}, output: 'seen' } as const
    proxy.stage.model.next(tool, { type: 'text', text: 'AFTER-IT' })
    expect((await proxy.prompt(id, first)).result).toEqual({ stopReason: 'end_turn' })
    expect(proxy.shown(id)).toContain('AFTER-IT')
    const statuses = proxy.messages.map(({ params }) => params?.update?.status).filter(Boolean)
    expect(statuses).toEqual(['pending', 'in_progress', 'completed'])
    isBroken = false
    expect((await proxy.prompt(id, second)).result).toEqual({ stopReason: 'end_turn' })
    expect(await questionsIn(proxy.store)).toEqual([first, second])
    expect((await proxy.store.search('"AFTER-IT"')).items).toHaveLength(1)
  })
})
