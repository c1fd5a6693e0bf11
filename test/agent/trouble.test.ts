import { mkdtempDisposableSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createAgent } from '../../src/agent/agent.ts'
import type { AgentEvent } from '../../src/agent/run/events.ts'
import { UnavailableError } from '../../src/core/errors.ts'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import { openStore, type Store } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'
import { allSaved, beginTurn, unsavedIn } from '../../src/recorder/index.ts'
import { lockFile } from '../support/lock-file.ts'
import { adder, eventsOf, said } from './build.ts'

/** A real store that can be disconnected, like a database behind a network. */
async function mortal() {
  const inner = await openStore(':memory:')
  const line = { cut: false }
  const store = new Proxy(inner, {
    get(target, name) {
      if (name === 'leaseMs') return target.leaseMs
      const method = target[name as keyof Store] as (...args: unknown[]) => Promise<unknown>
      return async (...args: unknown[]) => {
        if (line.cut) throw new UnavailableError('the line is cut')
        return method.apply(target, args)
      }
    },
  })
  return { store, inner, line, [Symbol.asyncDispose]: () => inner.close() }
}

const troubles = (events: readonly AgentEvent[]) =>
  events.flatMap(event => (event.type === 'trouble' ? [event.trouble.kind] : []))

describe.concurrent('a store that fails', () => {
  it('in the middle of a turn does not stop it: it is reported once, and everything is stored in the end (S1-39)', async () => {
    await using here = await mortal()
    const script = (_: unknown, call: number) => {
      here.line.cut = call === 0
      return call === 0 ? { calls: [{ name: 'add', input: { a: 1, b: 2 } }] } : 'It is 3.'
    }
    const agent = createAgent({ store: here.store, model: scripted({ script }), tools: { add: adder } })
    const run = agent.send('talk', 'what is 1 + 2?')
    const events = await eventsOf(run)
    expect(await run.result()).toMatchObject({
      text: 'It is 3.',
      status: 'complete',
      saved: true,
      unsaved: [],
    })
    expect(troubles(events)).toEqual(['degraded', 'recovered'])
    expect(await said(here.inner, 'talk')).toEqual([
      'user: what is 1 + 2?',
      'assistant: [add]',
      'tool_result: 3',
      'assistant: It is 3.',
    ])
  })

  it('before the model is called reports the unsaved message, and the answer uses the messages in memory', async () => {
    await using here = await mortal()
    const agent = createAgent({ store: here.store, model: scripted() })
    await agent.ask('talk', 'My dog is called Rex.')
    here.line.cut = true
    const run = agent.send('talk', 'What did I say first?')
    const order: string[] = []
    for await (const event of run) {
      if (event.type === 'trouble') order.push(event.trouble.kind)
      if (event.type === 'context') order.push('asked')
      if (event.type === 'text') here.line.cut = false
    }
    expect(order.indexOf('unsaved')).toBeLessThan(order.indexOf('asked'))
    const reply = await run.result()
    expect(reply.text).toContain('Rex')
    expect(reply.saved).toBe(true)
    expect((await said(here.inner, 'talk')).length).toBe(4)
  })

  it('until the end returns the unsaved messages to the caller', async () => {
    await using here = await mortal()
    const script = () => {
      here.line.cut = true
      return 'An answer.'
    }
    const agent = createAgent({ store: here.store, model: scripted({ script }) })
    const reply = await agent.ask('talk', 'hello')
    expect([reply.saved, reply.unsaved.map(message => message.role)]).toEqual([false, ['assistant']])
    expect(await said(here.inner, 'talk')).toEqual(['user: hello'])
    here.line.cut = false
    expect(await reply.whenSaved).toMatchObject({ saved: true, unsaved: [] })
    expect(await said(here.inner, 'talk')).toEqual(['user: hello', 'assistant: An answer.'])
  })

  it('for several turns leaves them queued: the model gets them, and they are stored in order', async () => {
    await using here = await mortal()
    await using agent = createAgent({ store: here.store, model: scripted() })
    await agent.ask('talk', 'hello')
    here.line.cut = true
    await agent.ask('talk', 'My name is Ada')
    const reply = await agent.ask('talk', 'what is my name?')
    expect(reply.text).toBe('Your name is Ada.')
    expect(unsavedIn(here.store).messages).toHaveLength(4)
    here.line.cut = false
    expect(await allSaved(here.store)).toBe(true)
    expect((await said(here.inner, 'talk')).slice(2)).toEqual([
      'user: My name is Ada',
      'assistant: Nice to meet you, Ada.',
      'user: what is my name?',
      'assistant: Your name is Ada.',
    ])
  })

  it('after the first turn of a key also queues messages for the branch that the turn was on', async () => {
    await using here = await mortal()
    await using agent = createAgent({ store: here.store, model: scripted() })
    const { branch } = await agent.ask({ key: 'talk', title: 'Names' }, 'My name is Ada')
    here.line.cut = true
    const reply = await agent.ask(branch!, 'what is my name?')
    expect([reply.text, reply.saved]).toEqual(['Your name is Ada.', false])
    // Neither name has more messages than the other.
    expect((await agent.ask('talk', 'what did I say first?')).text).toContain('My name is Ada')
    here.line.cut = false
    expect(await allSaved(here.store)).toBe(true)
    expect(await said(here.inner, 'talk')).toEqual([
      'user: My name is Ada',
      'assistant: Nice to meet you, Ada.',
      'user: what is my name?',
      'assistant: Your name is Ada.',
      'user: what did I say first?',
      expect.stringContaining('My name is Ada'),
    ])
  })

  it('after a turn on a new branch queues messages for that branch, each with its own history', async () => {
    await using here = await mortal()
    await using agent = createAgent({ store: here.store, model: scripted() })
    const { branch } = await agent.ask('talk', 'My name is Ada')
    const busy = await beginTurn(here.inner, branch!, { words: [{ role: 'user', content: 'wait' }] })
    const forked = await agent.ask('talk', 'My name is Bo', { onBusy: 'fork' })
    await busy.end('complete')
    expect(forked.branch!.name).toBe('main-2')
    here.line.cut = true
    expect((await agent.ask(forked.branch!, 'what is my name?')).text).toBe('Your name is Bo.')
    expect((await agent.ask(branch!, 'what is my name?')).text).toBe('Your name is Ada.')
    here.line.cut = false
    expect(await allSaved(here.store)).toBe(true)
    const { head } = await here.inner.getBranch(forked.branch!)
    expect((await pathOf(here.inner, head!)).slice(2).map(textOf)).toEqual([
      'My name is Bo',
      'Nice to meet you, Bo.',
      'what is my name?',
      'Your name is Bo.',
    ])
    expect((await said(here.inner, 'talk')).slice(2)).toEqual([
      'user: wait',
      'user: what is my name?',
      'assistant: Your name is Ada.',
    ])
  })

  it('again after queued messages went to a new branch queues further ones there', async () => {
    await using here = await mortal()
    await using agent = createAgent({ store: here.store, model: scripted() })
    const { branch } = await agent.ask('talk', 'My name is Ada')
    here.line.cut = true
    const queued = await agent.ask(branch!, 'My name is Bo')
    const busy = await beginTurn(here.inner, branch!, { words: [{ role: 'user', content: 'wait' }] })
    here.line.cut = false
    const saved = await queued.whenSaved
    await busy.end('complete')
    expect(saved!.branch.name).toBe('main-2')
    here.line.cut = true
    expect((await agent.ask(saved!.branch, 'what is my name?')).text).toBe('Your name is Bo.')
    here.line.cut = false
    expect(await allSaved(here.store)).toBe(true)
    const end = await here.inner.getBranch(saved!.branch)
    expect((await pathOf(here.inner, end.head!)).map(textOf).slice(2)).toEqual([
      'My name is Bo',
      'Nice to meet you, Bo.',
      'what is my name?',
      'Your name is Bo.',
    ])
  })

  it('while a file is locked keeps the question of a failed turn for the next model call', async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'skein-agent-'))
    const file = join(folder.path, 'conversations.db')
    await using store = await openStore(file)
    let calls = 0
    const script = ({ messages }: { messages: readonly unknown[] }) => {
      if (calls++ === 1) throw new Error('the model died')
      return `${messages.length} messages`
    }
    await using agent = createAgent({ store, model: scripted({ script }) })
    await agent.ask('talk', 'one')
    using lock = await lockFile(file)
    await expect(agent.ask('talk', 'two')).rejects.toThrow('the model died')
    expect((await agent.ask('talk', 'three')).text).toBe('4 messages')
    await lock.release()
    expect(await allSaved(store)).toBe(true)
    expect(await said(store, 'talk')).toEqual([
      'user: one',
      'assistant: 1 messages',
      'user: two',
      'user: three',
      'assistant: 4 messages',
    ])
  })

  it('makes close wait, up to its limit', async () => {
    await using here = await mortal()
    const script = () => {
      here.line.cut = true
      return 'An answer.'
    }
    const agent = createAgent({ store: here.store, model: scripted({ script }) })
    await agent.ask('talk', 'hello')
    await agent.close({ withinMs: 50 })
    expect(unsavedIn(here.store).messages).toHaveLength(1)
    const closing = agent.close()
    here.line.cut = false
    await closing
    expect(await said(here.inner, 'talk')).toEqual(['user: hello', 'assistant: An answer.'])
  })

  it('from the start is an error: the agent does not begin without its memory (S3-78, rule 8)', async () => {
    await using here = await mortal()
    here.line.cut = true
    const agent = createAgent({ store: here.store, model: scripted() })
    await expect(agent.ask('talk', 'hello')).rejects.toMatchObject({ code: 'unavailable' })
  })
})
