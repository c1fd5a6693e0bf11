import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { commandLine, type Home, home } from '../../cli/skein.ts'
import { variables } from '../agents/environment.ts'
import { slowly, startModel } from '../agents/model-server.ts'
import { requirements } from './requirements.ts'
import { failuresIn, runConformance } from './run-conformance.ts'

// Several processes on few cores.
vi.setConfig({ testTimeout: 180_000 })

const quietMs = 150

describe('the published requirements for version 1 of the protocol', () => {
  it('are 56', () => expect(Object.keys(requirements)).toHaveLength(56))

  it('are met by our own agent, and every line fits the schema', async () => {
    using here = home()
    const [command, args] = commandLine(['acp'])
    const { cwd, env } = here
    const verdicts = await runConformance({
      command,
      args,
      cwd,
      env,
      slowPrompt: '/slow 100 a b c d e f',
      quietMs,
    })
    expect(Object.keys(verdicts).sort()).toEqual(Object.keys(requirements).sort())
    expect(failuresIn(verdicts)).toEqual({})
    const skipped = Object.keys(verdicts).filter(id => verdicts[id]!.verdict === 'skip')
    expect(skipped.sort()).toEqual(['AUTH-003', 'AUTH-004'])
  })

  it.each([
    ['an agent with all capabilities', 'good'],
    ['an agent without a memory', 'forgetful'],
  ])('fail behind the proxy only where they fail without it: %s', async (_, name) => {
    using here = home()
    const alone = await conformanceOf(here, name, 'alone')
    const behind = await conformanceOf(here, name, 'behind')
    const failsAlone = Object.keys(failuresIn(alone))
    const worse = Object.entries(failuresIn(behind)).filter(([id]) => !failsAlone.includes(id))
    expect(Object.fromEntries(worse)).toEqual({})
  })
})

async function conformanceOf(here: Home, name: string, way: 'alone' | 'behind') {
  const model = await startModel()
  for (let i = 0; i < 2; i++) model.answerTo('Take your time', ...slowly('a b c d e f g h', 400))
  const folder = join(here.cwd, `${name}-${way}`)
  mkdirSync(folder)
  const agent = [process.execPath, join(import.meta.dirname, `../agents/${name}.ts`)]
  const [command, args] =
    way === 'alone'
      ? ([agent[0]!, agent.slice(1)] as const)
      : commandLine(['acp', '--db', join(folder, 'skein.db'), '--', ...agent])
  const env = { ...here.env, [variables.model]: model.url, [variables.state]: join(folder, 'state') }
  try {
    return await runConformance({ command, args, cwd: here.cwd, env, slowPrompt: 'Take your time', quietMs })
  } finally {
    await model.close()
  }
}
