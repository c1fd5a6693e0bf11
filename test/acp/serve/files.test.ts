import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../../src/core/model.ts'
import { pathOf } from '../../../src/core/path.ts'
import { desk } from './build.ts'

const call = (name: string, input: { readonly [field: string]: string | number }) => ({
  calls: [{ name, input }],
})
const both = { readTextFile: true, writeTextFile: true }

describe('the files of an editor', () => {
  it('are read with unsaved changes, and written through the editor if the person allows it', async () => {
    const script = [
      call('read_file', { path: 'src/a.ts', line: 2, limit: 1 }),
      call('write_file', { path: '/src/a.ts', content: 'new\n' }),
      'done',
    ]
    await using here = await desk({ script, can: both })
    const { editor, store } = here
    editor.files.set('/src/a.ts', 'one\ntwo, not saved\nthree')
    const { sessionId } = await editor.begin()
    await editor.prompt(sessionId, 'mend it')
    expect(editor.files.get('/src/a.ts')).toBe('new\n')
    expect(editor.asked.map(({ toolCall }) => toolCall.title)).toEqual(['write_file /src/a.ts, new'])
    const { branch } = await store.resolve(sessionId)
    const results = (await pathOf(store, branch.head!)).filter(({ role }) => role === 'tool_result')
    expect(results.map(({ content: blocks }) => blocks[0])).toMatchObject([
      { output: 'two, not saved' },
      { output: 'wrote 4 characters to /src/a.ts' },
    ])
  })

  it('that do not exist are an error for the model', async () => {
    await using here = await desk({ script: [call('read_file', { path: 'none' }), 'I see'], can: both })
    const { sessionId } = await here.editor.begin()
    expect(await here.editor.prompt(sessionId, 'read')).toMatchObject({ stopReason: 'end_turn' })
    const { branch } = await here.store.resolve(sessionId)
    const result = (await pathOf(here.store, branch.head!)).find(({ role }) => role === 'tool_result')
    expect(result?.content).toMatchObject([
      { isError: true, output: expect.stringContaining('there is no /none') },
    ])
  })

  it.each([
    [both, ['read_file', 'write_file']],
    [{ readTextFile: true }, ['read_file']],
    [{}, []],
  ])('are offered as far as the editor supports them: %j', async (can, names) => {
    let offered: readonly string[] = []
    const script = (request: ModelRequest) => {
      offered = (request.tools ?? []).map(({ name }) => name)
      return 'ok'
    }
    await using here = await desk({ script, can })
    const { sessionId } = await here.editor.begin()
    await here.editor.prompt(sessionId, 'hello')
    expect(offered).toEqual(names)
  })
})
