import { describe, expect, it } from 'vitest'
import { MissingKeyError } from '../../../src/core/errors.ts'
import { textOf } from '../../../src/core/message.ts'
import type { ModelRequest } from '../../../src/core/model.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import { scripted } from '../../../src/models/scripted.ts'
import { beginTurn } from '../../../src/recorder/begin-turn.ts'
import { counter, desk } from './build.ts'
import { only, wordsIn } from './editor.ts'

/** An image of one pixel. */
const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPgPAAEDAQAIicLsAAAAAElFTkSuQmCC'

/** A gate that a test opens: answers wait in the middle until it does. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    open: resolve,
    waitAt: (piece: number) => (n: number) => (n < piece ? Promise.resolve() : promise),
  }
}

describe('a prompt', () => {
  it('is answered in chunks: thoughts and text of a step are one message, the next step is another', async () => {
    const { tools } = counter()
    const script = [
      { thinking: 'let me see', text: 'I count.', calls: [{ name: 'count', input: { by: 2 }, id: 'c1' }] },
      { text: 'It is two.', usage: { input: 50, output: 5, cacheRead: 30, reasoning: 1 } },
    ]
    await using here = await desk({ script, tools })
    const { sessionId } = await here.editor.begin()
    await here.editor.agent.request('session/set_mode', { sessionId, modeId: 'auto' })
    here.editor.forget()
    const { stopReason, usage } = await here.editor.prompt(sessionId, 'count')
    expect(stopReason).toBe('end_turn')
    const shown = here.editor.shown(sessionId)
    expect(wordsIn(shown)).toEqual(['thought: let me see', 'agent: I count.It is two.'])
    const [first, ...others] = only(shown, 'agent_message_chunk')
    expect(only(shown, 'agent_thought_chunk')[0]?.messageId).toBe(first?.messageId)
    expect(others.at(-1)?.messageId).not.toBe(first?.messageId)
    expect(only(shown, 'tool_call')).toEqual([
      {
        sessionUpdate: 'tool_call',
        toolCallId: 'c1',
        title: 'count 2',
        name: 'count',
        kind: 'other',
        status: 'in_progress',
        rawInput: { by: 2 },
      },
    ])
    expect(only(shown, 'tool_call_update')).toMatchObject([
      {
        toolCallId: 'c1',
        status: 'completed',
        rawOutput: 'counted 2',
        content: [{ type: 'content', content: { type: 'text', text: 'counted 2' } }],
      },
    ])
    expect(only(shown, 'usage_update').at(-1)).toMatchObject({ used: 55, size: 102_400 })
    expect(usage).toMatchObject({ outputTokens: expect.any(Number), cachedReadTokens: 30, thoughtTokens: 1 })
    expect(usage?.totalTokens).toBe(usage!.inputTokens + usage!.outputTokens)
  })

  it('reports the cost of the whole conversation, if the provider reports costs', async () => {
    const answer = { text: 'ok', usage: { input: 10, output: 1, cost: 0.25 } }
    await using here = await desk({ script: () => answer })
    const { sessionId } = await here.editor.begin()
    await here.editor.prompt(sessionId, 'one')
    await here.editor.prompt(sessionId, 'two')
    const costs = only(here.editor.shown(sessionId), 'usage_update').flatMap(({ cost }) => cost ?? [])
    expect(costs).toEqual([
      { amount: 0.25, currency: 'USD' },
      { amount: 0.5, currency: 'USD' },
    ])
  })

  it('passes images, files and links to the model, and a replay restores them', async () => {
    const requests: ModelRequest[] = []
    const script = (request: ModelRequest) => {
      requests.push(request)
      return 'I see.'
    }
    await using here = await desk({ script })
    const { sessionId } = await here.editor.begin()
    const prompt = [
      { type: 'text', text: 'Look:' },
      { type: 'image', mimeType: 'image/png', data: dot },
      { type: 'audio', mimeType: 'audio/wav', data: 'UklGRg==' },
      {
        type: 'resource',
        resource: { uri: 'file:///a/notes.md', mimeType: 'text/markdown', text: '# Notes' },
      },
      { type: 'resource_link', uri: 'file:///a/big.csv', name: 'big.csv', mimeType: 'text/csv' },
    ] as const
    await here.editor.agent.request('session/prompt', { sessionId, prompt: [...prompt] })
    const [words] = requests[0]!.messages
    expect(words?.content).toMatchObject([
      { type: 'text', text: 'Look:' },
      { type: 'image', mime: 'image/png', data: dot },
      { type: 'audio', mime: 'audio/wav' },
      { type: 'file', mime: 'text/markdown', data: Buffer.from('# Notes').toString('base64') },
      { type: 'file', mime: 'text/csv', url: 'file:///a/big.csv', name: 'big.csv' },
    ])
    const editor = await here.another()
    await editor.agent.request('session/load', { sessionId, cwd: '/', mcpServers: [] })
    const shown = only(editor.shown(sessionId), 'user_message_chunk').map(({ content }) => content)
    expect(shown).toEqual(prompt)
  })

  it('is cancelled in the middle: the text that has arrived is stored, and the answer is cancelled', async () => {
    const { waitAt } = gate()
    await using here = await desk({ script: [{ text: 'one two three four', gate: waitAt(2) }] })
    const { sessionId } = await here.editor.begin()
    const answer = here.editor.prompt(sessionId, 'count')
    await here.editor.until(() => wordsIn(here.editor.shown(sessionId)).includes('agent: one two'))
    await here.editor.cancel(sessionId)
    expect((await answer).stopReason).toBe('cancelled')
    const { conversation, branch } = await here.store.resolve(sessionId)
    expect(
      (await collectPages(page => here.store.listTurns(conversation.id, page))).map(({ status }) => status),
    ).toEqual(['interrupted'])
    const path = await pathOf(here.store, branch.head!)
    expect(path.at(-1)).toMatchObject({ role: 'assistant', content: [{ text: 'one two' }] })
    expect((await here.editor.prompt(sessionId, 'continue')).stopReason).toBe('end_turn')
  })

  it('is cancelled before it has begun, with those that wait behind it', async () => {
    const { waitAt } = gate()
    await using here = await desk({ script: () => ({ text: 'never', gate: waitAt(0) }) })
    const { sessionId } = await here.editor.begin()
    const answers = ['one', 'two', 'three'].map(text => here.editor.prompt(sessionId, text))
    await here.editor.cancel(sessionId)
    expect((await Promise.all(answers)).map(({ stopReason }) => stopReason)).toEqual(
      Array(3).fill('cancelled'),
    )
  })

  it('waits for the one before it in the same session, and not for other sessions', async () => {
    const { open, waitAt } = gate()
    const script = (request: ModelRequest) => {
      const words = JSON.stringify(request.messages.at(-1)?.content)
      return words.includes('slow') ? { text: 'done slowly', gate: waitAt(1) } : 'done'
    }
    await using here = await desk({ script })
    const { editor } = here
    const [one, other] = [await editor.begin(), await editor.begin()]
    const slow = editor.prompt(one.sessionId, 'slow')
    const behind = editor.prompt(one.sessionId, 'quick')
    await editor.until(() => wordsIn(editor.shown(one.sessionId)).includes('agent: done'))
    await editor.prompt(other.sessionId, 'quick')
    expect(wordsIn(editor.shown(other.sessionId))).toEqual(['agent: done'])
    expect(wordsIn(editor.shown(one.sessionId))).toEqual(['agent: done'])
    open()
    await Promise.all([slow, behind])
    expect(wordsIn(editor.shown(one.sessionId))).toEqual(['agent: done slowlydone'])
    const { branch } = await here.store.resolve(one.sessionId)
    const said = await pathOf(here.store, branch.head!)
    expect(said.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  })

  it('is answered completely by the model that it began with, also if another is chosen meanwhile', async () => {
    const { open, waitAt } = gate()
    const script = ({ messages }: ModelRequest) =>
      messages.length === 1 ? { text: 'one two', gate: waitAt(1) } : ' three'
    await using here = await desk({ script })
    const { editor, store } = here
    const { sessionId } = await editor.begin()
    const first = editor.prompt(sessionId, 'count')
    await editor.until(() => wordsIn(editor.shown(sessionId)).includes('agent: one'))
    await editor.agent.request('session/set_config_option', { sessionId, configId: 'model', value: 'other' })
    const second = editor.prompt(sessionId, 'continue')
    // Answered after the prompt was accepted.
    await editor.agent.request('session/list', {})
    open()
    expect([(await first).stopReason, (await second).stopReason]).toEqual(['end_turn', 'end_turn'])
    expect(wordsIn(editor.shown(sessionId))).toEqual(['agent: one two three'])
    const turns = await collectPages(async page =>
      store.listTurns((await store.resolve(sessionId)).conversation.id, page),
    )
    expect(turns.map(({ model, status }) => `${model} ${status}`)).toEqual([
      'scripted complete',
      'other complete',
    ])
  })

  it('waits while another program answers in its conversation, and can be cancelled', async () => {
    await using here = await desk()
    const { editor, store } = here
    const { sessionId } = await editor.begin()
    await editor.prompt(sessionId, 'hello')
    const { branch } = await store.resolve(sessionId)
    const elsewhere = await beginTurn(store, branch, {
      words: [{ role: 'user', content: 'from a terminal' }],
    })
    const answer = editor.prompt(sessionId, 'from the editor')
    await editor.cancel(sessionId)
    expect((await answer).stopReason).toBe('cancelled')
    const next = editor.prompt(sessionId, 'from the editor again')
    await elsewhere.add([{ role: 'assistant', content: 'done' }], { ends: 'complete' })
    await elsewhere.end('complete')
    expect((await next).stopReason).toBe('end_turn')
    const path = await pathOf(store, (await store.getBranch(branch)).head!)
    expect(path.filter(({ role }) => role === 'user').map(textOf)).toEqual([
      'hello',
      'from a terminal',
      'from the editor again',
    ])
  })

  it('reports an error in a sentence, and the session can continue', async () => {
    await using here = await desk()
    const { sessionId } = await here.editor.begin()
    await expect(here.editor.prompt(sessionId, '/fail 401')).rejects.toMatchObject({
      code: -32603,
      message: 'scripted: answered 401, as it was told to',
      data: { code: 'model_failed' },
    })
    expect((await here.editor.prompt(sessionId, 'hello')).stopReason).toBe('end_turn')
    const { branch } = await here.store.resolve(sessionId)
    expect((await pathOf(here.store, branch.head!))[0]).toMatchObject({
      role: 'user',
      content: [{ text: '/fail 401' }],
    })
  })

  it('is refused while a key is missing and leaves nothing, and is accepted once the key is there', async () => {
    let isSet = false
    const agentParts = async () => {
      if (!isSet) throw new MissingKeyError('anthropic', 'ANTHROPIC_API_KEY')
      return { model: scripted() }
    }
    await using here = await desk({ served: { agentParts } })
    const { sessionId } = await here.editor.begin()
    await expect(here.editor.prompt(sessionId, 'hello')).rejects.toMatchObject({
      message: 'there is no key for anthropic: set ANTHROPIC_API_KEY',
    })
    expect(await here.store.countConversations()).toBe(0)
    isSet = true
    expect((await here.editor.prompt(sessionId, 'hello')).stopReason).toBe('end_turn')
  })

  it('ends with the stop reason of its turn', async () => {
    const { tools } = counter()
    const script = [
      { text: 'too long', finish: 'length' },
      { text: 'held back', finish: 'filtered' },
    ] as const
    await using here = await desk({ script, tools })
    const { sessionId } = await here.editor.begin()
    const reasons = [
      (await here.editor.prompt(sessionId, 'one')).stopReason,
      (await here.editor.prompt(sessionId, 'two')).stopReason,
    ]
    expect(reasons).toEqual(['max_tokens', 'end_turn'])
    const forever = () => ({ calls: [{ name: 'count', input: { by: 1 } }] })
    await using busy = await desk({ script: forever, tools })
    const begun = await busy.editor.begin()
    await busy.editor.agent.request('session/set_mode', { sessionId: begun.sessionId, modeId: 'auto' })
    expect((await busy.editor.prompt(begun.sessionId, 'count')).stopReason).toBe('max_turn_requests')
  })

  it('is stored as interrupted if the editor disconnects in the middle of it', async () => {
    const { waitAt } = gate()
    await using here = await desk({ script: [{ text: 'one two three', gate: waitAt(2) }] })
    const { sessionId } = await here.editor.begin()
    const answer = here.editor.prompt(sessionId, 'count').catch(() => 'gone')
    await here.editor.until(() => wordsIn(here.editor.shown(sessionId)).includes('agent: one two'))
    await here.leave()
    const { conversation, branch } = await here.store.resolve(sessionId)
    expect(await collectPages(page => here.store.listTurns(conversation.id, page))).toMatchObject([
      { status: 'interrupted' },
    ])
    expect((await pathOf(here.store, branch.head!)).at(-1)).toMatchObject({ content: [{ text: 'one two' }] })
    void answer
  })
})
