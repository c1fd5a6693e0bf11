import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { marker } from '../agents/model-server.ts'
import type { CommandStep } from '../agents/step.ts'
import { asZed, shownTerminals } from '../agents/zed.ts'
import { storeOf } from './stored.ts'

/** The output of commands that an editor like Zed shows in terminals. */

const good = behindProxy(agentCommand('good'))
const test: CommandStep = {
  type: 'command',
  command: 'npm test',
  output: ['\u001b[31mFAIL\u001b[0m src/', 'a.test.ts\r\n', 'expected QUOKKA\r\n'],
  exitCode: 1,
  through: 'terminal_output',
  callId: 'call-1',
}
const whole = test.output.join('')

async function resultsIn(store: Store) {
  const { items } = await store.listConversations()
  const messages = await pathOf(store, items[0]!.branch.head!)
  return messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'))
}

describe('command output', () => {
  it.each(['terminal_output', 'terminal_output_delta'] as const)(
    'in _meta.%s is stored, searched and shown in a terminal again after a load',
    async through => {
      await using stage = await openStage()
      const editor = await stage.start(good, asZed())
      const id = await editor.newSession()
      stage.model.next({ ...test, through }, { type: 'text', text: 'It fails.' })
      await editor.prompt(id, marker('first'))
      await using store = await storeOf(stage)
      expect(await resultsIn(store)).toMatchObject([{ callId: 'call-1', output: whole, isError: true }])
      expect((await store.search('QUOKKA')).items).toHaveLength(1)
      expect((await store.search('FAIL')).items).toHaveLength(1)
      const live = editor.updates(id)
      await editor.kill9()

      const after = await stage.start(good, asZed())
      await after.load(id)
      expect(shownTerminals(after.updates(id))).toEqual([{ callId: 'call-1', output: whole, exitCode: 1 }])
      if (through === 'terminal_output')
        expect(shownTerminals(after.updates(id))).toEqual(shownTerminals(live))
      const [announced] = after.updates(id).filter(({ sessionUpdate }) => sessionUpdate === 'tool_call')
      expect(announced).toMatchObject({
        name: 'Bash',
        _meta: { terminal_info: { terminal_id: 'call-1', cwd: '/work' }, stub: { toolName: 'Bash' } },
      })
    },
  )

  it('in a terminal of the editor is stored, searched and shown again after a load', async () => {
    await using stage = await openStage()
    const editor = await stage.start(good, asZed())
    const id = await editor.newSession()
    stage.model.next(
      { ...test, command: 'echo WOMBAT; exit 3', output: [], exitCode: 3, through: 'terminal/create' },
      { type: 'text', text: 'It fails.' },
    )
    await editor.prompt(id, marker('first'))
    await using store = await storeOf(stage)
    expect(await resultsIn(store)).toMatchObject([{ output: 'WOMBAT\n', isError: true }])
    expect((await store.search('WOMBAT role:tool_result')).items).toHaveLength(1)
    await editor.kill9()

    const after = await stage.start(good, asZed())
    await after.load(id)
    expect(shownTerminals(after.updates(id))).toEqual([{ callId: 'call-1', output: 'WOMBAT\n', exitCode: 3 }])
  })

  it('is text after a load in an editor that does not show terminals of agents', async () => {
    await using stage = await openStage()
    const editor = await stage.start(good, asZed())
    const id = await editor.newSession()
    stage.model.next(test, { type: 'text', text: 'It fails.' })
    await editor.prompt(id, marker('first'))
    await editor.kill9()
    const after = await stage.start(good)
    await after.load(id)
    expect(after.updates(id).filter(({ toolCallId }) => toolCallId === 'call-1')).toMatchObject([
      { status: 'failed', content: [{ type: 'content', content: { type: 'text', text: whole } }] },
    ])
  })

  it('is found if the agent sends only an exit code as its output', async () => {
    await using stage = await openStage()
    const editor = await stage.start(good, asZed())
    const id = await editor.newSession()
    stage.model.next({ ...test, rawOutput: { exit_code: 1 } }, { type: 'text', text: 'It fails.' })
    await editor.prompt(id, marker('first'))
    await using store = await storeOf(stage)
    expect(await resultsIn(store)).toMatchObject([{ output: whole }])
    await editor.load(id)
    const ends = editor.updates(id).filter(({ status }) => status === 'failed')
    expect(ends.map(({ rawOutput }) => rawOutput)).toEqual([{ exit_code: 1 }, { exit_code: 1 }])
  })
})
