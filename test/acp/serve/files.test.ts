import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../../src/core/model.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { desk } from './build.ts'
import { only } from './editor.ts'

const call = (name: string, input: object, id = 'c1') => ({ calls: [{ name, input: input as never, id }] })
const fs = { readTextFile: true, writeTextFile: true }

function folder(): Disposable & { readonly path: string } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'skein-editor-')))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

async function resultsIn(store: Store, sessionId: string): Promise<unknown[]> {
  const { branch } = await store.resolve(sessionId)
  const results = (await pathOf(store, branch.head!)).filter(({ role }) => role === 'tool_result')
  return results.map(({ content: blocks }) => (blocks[0] as { output: unknown }).output)
}

describe('the files of an editor', () => {
  it('are read with unsaved changes, and changed through the editor if the person allows it', async () => {
    using project = folder()
    const path = join(project.path, 'a.ts')
    writeFileSync(path, 'on disk')
    const script = [
      call('read_file', { path: 'a.ts', line: 2, limit: 1 }),
      call('edit_file', { path: 'a.ts', old_text: 'two', new_text: 'deux' }, 'c2'),
      'done',
    ]
    await using here = await desk({ script, can: { fs }, cwd: project.path })
    const { editor, store } = here
    editor.files.set(path, 'one\ntwo, not saved\nthree')
    const { sessionId } = await editor.begin()
    await editor.prompt(sessionId, 'mend it')
    expect(editor.files.get(path)).toBe('one\ndeux, not saved\nthree')
    expect(readFileSync(path, 'utf8')).toBe('on disk')
    expect(editor.asked.map(({ toolCall }) => toolCall)).toMatchObject([
      {
        title: 'edit a.ts',
        kind: 'edit',
        content: [{ type: 'diff', path, newText: 'one\ndeux, not saved\nthree' }],
        locations: [{ path }],
      },
    ])
    expect(await resultsIn(store, sessionId)).toEqual(['two, not saved', 'edited a.ts'])
    // The editor keeps the diff on the screen.
    const ended = only(editor.shown(sessionId), 'tool_call_update').findLast(
      ({ toolCallId }) => toolCallId === 'c2',
    )
    expect(ended).toMatchObject({ status: 'completed' })
    expect(ended).not.toHaveProperty('content')
  })

  it('that do not exist are an error for the model', async () => {
    const script = [call('read_file', { path: 'none' }), 'I see']
    await using here = await desk({ script, can: { fs } })
    const { sessionId } = await here.editor.begin()
    expect(await here.editor.prompt(sessionId, 'read')).toMatchObject({ stopReason: 'end_turn' })
    expect(await resultsIn(here.store, sessionId)).toEqual([expect.stringContaining('there is no /none')])
  })

  it('are those on disk if the editor does not offer them', async () => {
    using project = folder()
    writeFileSync(join(project.path, 'a.ts'), 'on disk')
    const script = [
      call('read_file', { path: 'a.ts' }),
      call('write_file', { path: 'a.ts', content: 'changed' }, 'c2'),
      call('search_files', { text: 'chang' }, 'c3'),
      'done',
    ]
    await using here = await desk({ script, cwd: project.path })
    const { sessionId } = await here.editor.begin()
    await here.editor.prompt(sessionId, 'go')
    expect(await resultsIn(here.store, sessionId)).toEqual([
      ...['on disk', 'wrote 7 characters to a.ts', 'a.ts:1: changed'],
    ])
    expect(here.editor.asked.map(({ toolCall }) => toolCall.title)).toEqual(['write a.ts'])
  })

  it('outside the project are asked for in every mode; a further directory belongs to the project', async () => {
    using project = folder()
    using other = folder()
    writeFileSync(join(other.path, 'b.ts'), 'other')
    const script = () => (n++ % 2 === 0 ? call('read_file', { path: join(other.path, 'b.ts') }) : 'done')
    let n = 0
    await using here = await desk({ script, cwd: project.path })
    const { editor } = here
    expect(editor.hello.agentCapabilities?.sessionCapabilities).toHaveProperty('additionalDirectories')
    const { sessionId } = await editor.begin()
    await editor.agent.request('session/set_mode', { sessionId, modeId: 'auto' })
    await editor.prompt(sessionId, 'go')
    expect(editor.asked).toHaveLength(1)
    const wide = await editor.begin({ additionalDirectories: [other.path] })
    await editor.prompt(wide.sessionId, 'go')
    expect(editor.asked).toHaveLength(1)
  })

  it('can be changed without asking in the mode edits, and not at all in the mode read', async () => {
    using project = folder()
    const names = ['ask', 'edits', 'read', 'auto']
    const script = ({ messages }: ModelRequest) =>
      messages.at(-1)?.role === 'user'
        ? {
            calls: [
              { name: 'write_file', input: { path: 'a.txt', content: 'x' } },
              { name: 'run_command', input: { command: 'true' } },
            ],
          }
        : 'done'
    await using here = await desk({ script, cwd: project.path })
    const { sessionId } = await here.editor.begin()
    const asked: Record<string, number> = {}
    for (const modeId of names) {
      await here.editor.agent.request('session/set_mode', { sessionId, modeId })
      const before = here.editor.asked.length
      await here.editor.prompt(sessionId, 'go')
      asked[modeId] = here.editor.asked.length - before
    }
    expect(asked).toEqual({ ask: 2, edits: 1, read: 0, auto: 0 })
    const refused = (await resultsIn(here.store, sessionId)).slice(4, 6)
    for (const one of refused) expect(one).toContain('the mode Read only')
  })
})

describe('the terminals of an editor', () => {
  it('run commands, show them in their calls, and are released', async () => {
    const script = [call('run_command', { command: 'npm test' }), 'done']
    await using here = await desk({ script, can: { terminal: true } })
    const { editor, store } = here
    editor.onCommand(async () => ({ output: '2 failed\n', exitCode: 1 }))
    const { sessionId } = await editor.begin()
    await editor.prompt(sessionId, 'test it')
    expect(editor.terminals).toEqual(['create npm test in /', 'release t1'])
    const updates = only(editor.shown(sessionId), 'tool_call_update')
    expect(updates.some(({ content }) => content?.[0]?.type === 'terminal')).toBe(true)
    expect(updates.at(-1)).toMatchObject({ status: 'failed' })
    expect(updates.at(-1)).not.toHaveProperty('content')
    expect(await resultsIn(store, sessionId)).toEqual(['exit 1\n2 failed\n'])
  })

  it('are killed when the prompt is cancelled', async () => {
    const script = [call('run_command', { command: 'sleep 600' }), 'done']
    await using here = await desk({ script, can: { terminal: true } })
    const { editor } = here
    const started = Promise.withResolvers<void>()
    editor.onCommand(() => {
      started.resolve()
      return new Promise(() => undefined)
    })
    const { sessionId } = await editor.begin()
    const answer = editor.prompt(sessionId, 'go')
    await started.promise
    await editor.until(() =>
      only(editor.shown(sessionId), 'tool_call_update').some(({ content }) => content?.length === 1),
    )
    await editor.cancel(sessionId)
    expect((await answer).stopReason).toBe('cancelled')
    while (!editor.terminals.includes('release t1')) await new Promise(setImmediate)
    expect(editor.terminals).toEqual(['create sleep 600 in /', 'kill t1', 'release t1'])
  })
})

describe('the plan of our agent', () => {
  it('is shown, and shown again when the session is loaded', async () => {
    const entries = [
      { content: 'Read', status: 'completed', priority: 'high' },
      { content: 'Write', status: 'pending', priority: 'medium' },
    ]
    const script = [call('update_plan', { entries }), 'done']
    await using here = await desk({ script })
    const { sessionId } = await here.editor.begin()
    await here.editor.prompt(sessionId, 'plan it')
    expect(only(here.editor.shown(sessionId), 'plan')).toMatchObject([{ entries }])
    const later = await here.another()
    await later.agent.request('session/load', { sessionId, cwd: '/', mcpServers: [] })
    expect(only(later.shown(sessionId), 'plan')).toMatchObject([{ entries }])
  })
})

describe('the slash commands of our agent', () => {
  it('are offered with each session, and their answers are not part of the conversation', async () => {
    await using here = await desk({ script: () => 'the certificate is reloaded' })
    const { editor, store } = here
    const { sessionId } = await editor.begin()
    await editor.until(() => only(editor.shown(sessionId), 'available_commands_update').length > 0)
    const [{ availableCommands } = { availableCommands: [] }] = only(
      editor.shown(sessionId),
      'available_commands_update',
    )
    expect(availableCommands.map(({ name }) => name)).toEqual(['fork', 'search', 'model', 'compact'])
    const say = async (text: string) => {
      editor.forget()
      expect((await editor.prompt(sessionId, text)).stopReason).toBe('end_turn')
      return only(editor.shown(sessionId), 'agent_message_chunk')
        .map(({ content }) => (content.type === 'text' ? content.text : ''))
        .join('')
    }
    expect(await say('/fork')).toBe('There are no messages here yet.')
    await say('when?')
    expect(await say('/search certificate')).toMatch(/the certificate is reloaded .*`skein show \w+`/)
    expect(await say('/search nothing-like-it')).toContain('Nothing in this project')
    expect(await say('/model')).toContain('The model is `scripted`')
    expect(await say('/model none')).toContain('There is no model none')
    expect(await say('/model other')).toBe('The other answers from here on.')
    expect(only(editor.shown(sessionId), 'config_option_update')).toHaveLength(1)
    expect(await say('/compact')).toContain('nothing to summarise yet')
    const forked = await say('/fork')
    const [, id = ''] = /session `([^`]+)`/.exec(forked) ?? []
    const { sessions } = await editor.agent.request('session/list', {})
    expect(sessions.map(one => one.sessionId)).toContain(id)
    expect(await say('/usr is a path')).toBe('the certificate is reloaded')
    const { branch } = await store.resolve(sessionId)
    expect(await pathOf(store, branch.head!)).toHaveLength(4)
  })
})
