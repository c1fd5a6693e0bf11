import { channel } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAgent } from '../../src/agent/agent.ts'
import { UnavailableError } from '../../src/core/errors.ts'
import { retried } from '../../src/models/retry.ts'
import { scripted } from '../../src/models/scripted.ts'
import { beginTurn } from '../../src/recorder/index.ts'
import { openStore } from '../../src/stores/open.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { printDebug, type RetryTrace, type StatementTrace } from '../../src/system/debug.ts'
import { home } from '../cli/skein.ts'
import { assistant, place, user } from '../recorder/place.ts'

/** Listens to a channel for the rest of the test. */
function listen<Message>(name: string): readonly Message[] {
  const heard: Message[] = []
  const listener = (message: unknown) => void heard.push(message as Message)
  channel(name).subscribe(listener)
  onTestFinished(() => void channel(name).unsubscribe(listener))
  return heard
}

/** Lines as SKEIN_DEBUG prints them, with the times replaced. */
function printed(list: string): readonly string[] {
  const lines: string[] = []
  onTestFinished(printDebug(list, line => lines.push(line.replaceAll(/[\d.]+ ms/g, '_ ms'))))
  return lines
}

const question = { role: 'user', content: 'a secret question' } as const

describe('the channel skein:statement', () => {
  it('names every statement of a transaction on SQLite, with its time and rows, and no stored text', async () => {
    await using store = await openStore(':memory:')
    const { branch } = await store.create()
    const heard = listen<StatementTrace>('skein:statement')
    const lines = printed('statement')
    await store.append(branch, null, [question])
    const names = heard.flatMap(({ statements }) => statements)
    expect([names[0], names.at(-1)]).toEqual(['BEGIN IMMEDIATE', 'COMMIT'])
    expect(names).toEqual(expect.arrayContaining(['lockBranch', 'insertMessage', 'setHead']))
    expect(heard.every(({ ms, rows }) => ms >= 0 && rows >= 0)).toBe(true)
    expect(JSON.stringify(heard)).not.toContain('secret')
    expect(lines).toContain('skein:statement _ ms sqlite insertMessage · 1 row')
  })

  it('reports a statement that fails', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'debug-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    await using store = await openSqliteStore(join(folder, 'a.db'))
    const other = new BetterSqlite3(join(folder, 'a.db'))
    onTestFinished(() => void other.close())
    other.exec('DROP TABLE skein_metadata')
    const lines = printed('statement')
    await expect(store.create({ metadata: { a: 1 } })).rejects.toThrow()
    expect(lines.at(-1)).toMatch(/^skein:statement _ ms sqlite \w+ · 0 rows · SQLITE_ERROR$/)
  })
})

describe('the channel skein:retry', () => {
  it('reports a wait for the lock of an SQLite file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'debug-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    await using store = await openSqliteStore(join(folder, 'a.db'))
    const other = new BetterSqlite3(join(folder, 'a.db'))
    other.exec('BEGIN IMMEDIATE')
    setTimeout(() => other.close(), 100)
    const heard = listen<RetryTrace>('skein:retry')
    await store.create()
    expect(heard.map(({ what, attempt }) => [what, attempt]).slice(0, 2)).toEqual([
      ['lock', 1],
      ['lock', 8],
    ])
  })

  it('reports the writes of a turn that wait, with growing pauses', async () => {
    const it = await place()
    const turn = await beginTurn(it.failing.store, it.branch, { words: [user('q')] }, it.clock)
    const lines = printed('retry')
    it.failing.fate = () => ({ before: new UnavailableError('away') })
    await turn.add([assistant('a')])
    await it.clock.advance(250)
    it.failing.heal()
    await it.clock.advance(1_000)
    await turn.end('complete')
    expect(lines).toEqual([
      'skein:retry write, attempt 1, again in _ ms · 1 waiting · unavailable: away',
      'skein:retry write, attempt 2, again in _ ms · 1 waiting · unavailable: away',
    ])
  })

  it('reports a call of a model that is made again', async () => {
    const model = retried(scripted({ script: [{ fail: 503 }, 'Hello.'] }), { sleep: async () => {} })
    const heard = listen<RetryTrace>('skein:retry')
    await using agent = createAgent({ model })
    expect((await agent.ask('talk', 'hello')).text).toBe('Hello.')
    expect(heard).toMatchObject([{ what: 'model', attempt: 1, error: { code: 'model_failed' } }])
  })
})

describe('the channel skein:model', () => {
  it('reports each call with its size, its usage and its error', async () => {
    const lines = printed('model')
    const script = [{ text: 'Hello.', usage: { input: 5, output: 2 } }, { fail: 400 }]
    await using agent = createAgent({ model: scripted({ script }), system: 'Be brief.' })
    await agent.ask('talk', 'a secret question')
    await expect(agent.ask('talk', 'another')).rejects.toThrow()
    expect(lines).toEqual([
      'skein:model _ ms scripted · 2 messages, 8 tokens counted · 5 in, 2 out',
      expect.stringMatching(/^skein:model _ ms scripted · 4 messages, \d+ tokens counted · model_failed: /),
    ])
  })
})

describe('SKEIN_DEBUG', () => {
  it('prints to stderr in the command, and leaves stdout alone', async () => {
    using here = home()
    const env = { SKEIN_DEBUG: 'model, statement' }
    const { stdout, stderr } = await here.skein(['-q', 'my name is Ada'], { env })
    expect(stdout).toBe('Nice to meet you, Ada.\n')
    expect(stderr).toMatch(/^skein:model [\d.]+ ms scripted · 1 message, 4 tokens counted · 4 in, 6 out$/m)
    expect(stderr).toMatch(/^skein:statement [\d.]+ ms sqlite COMMIT · 0 rows$/m)
    expect(stderr).not.toContain('Ada')
  })

  it('takes * for all channels, and reports a name that does not exist', () => {
    const lines: string[] = []
    printDebug('skein:retry, statment', line => lines.push(line))()
    expect(lines).toEqual(['skein: SKEIN_DEBUG has no statment; there are statement, retry, model'])
    const stop = printDebug('*', () => {})
    expect(['statement', 'retry', 'model'].map(name => channel(`skein:${name}`).hasSubscribers)).toEqual([
      ...[true, true, true],
    ])
    stop()
    expect(channel('skein:statement').hasSubscribers).toBe(false)
  })
})
