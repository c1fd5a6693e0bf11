import { describe, expect, it } from 'vitest'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import { counter, desk } from './build.ts'
import { only } from './editor.ts'

const count = (id: string) => ({ name: 'count', input: { by: 1 }, id })

/** Calls once, then ends, again and again. */
function callingOnce() {
  let n = 0
  return () => (n++ % 2 === 0 ? { calls: [count(`c${n}`)] } : 'done')
}

describe('before a tool runs', () => {
  it('the person is asked, after the call was shown, and request and answer are stored', async () => {
    const { tools, runs } = counter()
    await using here = await desk({ script: [{ text: 'I count.', calls: [count('c1')] }, 'done'], tools })
    const { editor, store } = here
    const { sessionId } = await editor.begin()
    let shownFirst = false
    const asked = editor
      .until(() => editor.asked.length > 0)
      .then(() => {
        shownFirst = only(editor.shown(sessionId), 'tool_call').some(({ status }) => status === 'pending')
      })
    await editor.prompt(sessionId, 'count')
    await asked
    expect([shownFirst, runs()]).toEqual([true, 1])
    expect(editor.asked).toMatchObject([
      {
        sessionId,
        toolCall: { toolCallId: 'c1', title: 'count 1', rawInput: { by: 1 } },
        options: [{ kind: 'allow_once' }, { kind: 'allow_always' }, { kind: 'reject_once' }],
      },
    ])
    const states = only(editor.shown(sessionId), 'tool_call_update').map(({ status }) => status)
    expect(states).toEqual(['in_progress', 'completed'])
    const { conversation } = await store.resolve(sessionId)
    const events = await collectPages(page =>
      store.listEvents(conversation.id, { types: ['permission'], ...page }),
    )
    expect(events).toMatchObject([
      {
        data: {
          toolCall: { toolCallId: 'c1', name: 'count' },
          answer: { outcome: 'selected', optionId: 'allow_once' },
        },
      },
    ])
  })

  it('and the person refuses, it does not run, and the model is told so', async () => {
    const { tools, runs } = counter()
    await using here = await desk({ script: [{ calls: [count('c1')] }, 'all right'], tools })
    const { sessionId } = await here.editor.begin()
    here.editor.permit('reject_once')
    expect((await here.editor.prompt(sessionId, 'count')).stopReason).toBe('end_turn')
    expect(runs()).toBe(0)
    const { branch } = await here.store.resolve(sessionId)
    const [, , result] = await pathOf(here.store, branch.head!)
    expect(result?.content).toMatchObject([{ type: 'tool_result', callId: 'c1', isError: true }])
    expect(JSON.stringify(result?.content)).toContain('did not allow')
    expect(only(here.editor.shown(sessionId), 'tool_call_update').at(-1)?.status).toBe('failed')
  })

  it('that the person has always allowed, the person is not asked again in this session', async () => {
    const { tools, runs } = counter()
    await using here = await desk({ script: callingOnce(), tools })
    const { editor } = here
    const [one, other] = [await editor.begin(), await editor.begin()]
    editor.permit('allow_always')
    await editor.prompt(one.sessionId, 'count')
    await editor.prompt(one.sessionId, 'again')
    expect([editor.asked.length, runs()]).toEqual([1, 2])
    await editor.prompt(other.sessionId, 'count')
    expect([editor.asked.length, runs()]).toEqual([2, 3])
  })

  it('there is one request at a time, and "always" answers those that wait', async () => {
    const { tools, runs } = counter()
    const script = [{ calls: ['c1', 'c2', 'c3'].map(count) }, 'done']
    await using here = await desk({ script, tools })
    const { sessionId } = await here.editor.begin()
    here.editor.permit('allow_always')
    await here.editor.prompt(sessionId, 'count')
    expect([here.editor.asked.length, runs()]).toEqual([1, 3])
  })

  it('there is no request in the mode auto', async () => {
    const { tools, runs } = counter()
    await using here = await desk({ script: callingOnce(), tools })
    const { sessionId } = await here.editor.begin()
    const set = { sessionId, configId: 'mode', value: 'auto' } as const
    await here.editor.agent.request('session/set_config_option', { ...set })
    expect(only(here.editor.shown(sessionId), 'current_mode_update')).toMatchObject([
      { currentModeId: 'auto' },
    ])
    await here.editor.prompt(sessionId, 'count')
    expect([here.editor.asked.length, runs()]).toEqual([0, 1])
  })

  it('a request is cancelled with its prompt, and the tool does not run', async () => {
    const { tools, runs } = counter()
    await using here = await desk({ script: [{ calls: [count('c1')] }, 'done'], tools })
    const { sessionId } = await here.editor.begin()
    here.editor.permit('when called off')
    const answer = here.editor.prompt(sessionId, 'count')
    await here.editor.until(() => here.editor.asked.length > 0)
    await here.editor.cancel(sessionId)
    expect((await answer).stopReason).toBe('cancelled')
    expect(runs()).toBe(0)
    expect(only(here.editor.shown(sessionId), 'tool_call_update').at(-1)?.status).toBe('failed')
    const { conversation } = await here.store.resolve(sessionId)
    expect(await collectPages(page => here.store.listTurns(conversation.id, page))).toMatchObject([
      { status: 'interrupted' },
    ])
  })

  it('a request without an answer does not block the session after its prompt was cancelled', async () => {
    const { tools, runs } = counter()
    const script = [{ calls: ['c1', 'c2'].map(count) }, { calls: [count('c3')] }, 'done']
    await using here = await desk({ script, tools })
    const { sessionId } = await here.editor.begin()
    here.editor.permit('never')
    const answer = here.editor.prompt(sessionId, 'count')
    await here.editor.until(() => here.editor.asked.length > 0)
    await here.editor.cancel(sessionId)
    expect((await answer).stopReason).toBe('cancelled')
    here.editor.permit('allow_once')
    expect((await here.editor.prompt(sessionId, 'again')).stopReason).toBe('end_turn')
    expect(here.editor.asked.map(({ toolCall }) => toolCall.toolCallId)).toEqual(['c1', 'c3'])
    expect(runs()).toBe(1)
  })

  it('that cannot run, its call is shown as failed without a request', async () => {
    await using here = await desk({ script: [{ calls: [{ name: 'unknown', input: {}, id: 'c1' }] }, 'oh'] })
    const { sessionId } = await here.editor.begin()
    await here.editor.prompt(sessionId, 'go')
    expect(here.editor.asked).toEqual([])
    expect(only(here.editor.shown(sessionId), 'tool_call')).toMatchObject([
      { toolCallId: 'c1', status: 'failed' },
    ])
  })
})
