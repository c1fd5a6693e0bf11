import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { failureSchema, commandShapes as shapes, withoutJson } from '../../src/api/schema/command/index.ts'
import { commands } from '../../src/cli/commands/index.ts'
import { start } from './running.ts'
import { type Home, home } from './skein.ts'
import { stocked, type Told, tell } from './stock.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

let here: Home
let told: Told

beforeAll(async () => {
  here = home()
  told = await stocked(here, async store => {
    const started = await tell(
      store,
      { directory: here.cwd, title: 'Reconnect storm', model: 'scripted', key: 'cli:storm' },
      'Use full jitter',
      {
        role: 'assistant',
        content: [
          { type: 'thinking', text: 'hm' },
          { type: 'text', text: 'I look', metadata: { cited: [1] } },
          { type: 'tool_call', callId: 'c1', name: 'bash', input: { command: 'npm test' } },
        ],
      },
      {
        role: 'tool_result',
        content: [{ type: 'tool_result', callId: 'c1', output: 'jitter', isError: true }],
      },
      { role: 'user', content: [{ type: 'image', mime: 'image/png', data: 'AAAA', name: 'a.png' }] },
      'the end',
    )
    await store.createBranch(started.conversation.id, started.ids[1]!, { name: 'side' })
    await store.eraseMessages([started.ids[4]!], { by: 'test', reason: 'secret' })
    await tell(store, { directory: here.cwd }, 'alone')
    return started
  })
})
afterAll(() => here[Symbol.dispose]())

/** Runs a command, and checks its output against the documented shape. */
async function printed(args: readonly string[], command: string, at = 0): Promise<unknown> {
  const { stdout, stderr, code } = await here.skein([...args, '--json'])
  expect([stderr, code], args.join(' ')).toEqual(['', 0])
  expect(stdout.endsWith('\n') && !stdout.slice(0, -1).includes('\n'), 'one line').toBe(true)
  const value: unknown = JSON.parse(stdout)
  const { error } = shapes[command]![at]!.schema.safeParse(value)
  expect(error && z.prettifyError(error), args.join(' ')).toBeUndefined()
  return value
}

describe('--json matches docs/json.md', () => {
  it('for answers and forks', async () => {
    await printed(['-n', 'hello there'], '')
    await printed(['-G', 'hello there'], '')
    await printed(['fork', told.ids[0]!], 'fork')
  })

  it('for the reading commands, with data and without', async () => {
    const [first] = (await printed(['ls'], 'ls')) as [Record<string, unknown>]
    // Control: a missing, additional or mistyped field is detected.
    const { title: _, ...without } = first
    for (const other of [{ ...first, extra: 1 }, without, { ...first, created_at: 'yesterday' }]) {
      expect(shapes.ls![0]!.schema.safeParse([other]).success).toBe(false)
    }
    await printed(['show', told.conversation.id], 'show')
    await printed(['tree'], 'tree')
    await printed(['branches', told.conversation.id], 'branches')
    expect(await printed(['search', 'jitter'], 'search')).toHaveLength(2)
    expect(await printed(['search', 'nowhere'], 'search')).toEqual([])
    expect(await printed(['ls', '--title', 'nowhere'], 'ls')).toEqual([])
    await printed(['stats'], 'stats')
    await printed(['events', told.conversation.id], 'events')
  })

  it('for the managing commands', async () => {
    const { id } = told.conversation
    await printed(['rename', id, 'Storm'], 'rename')
    await printed(['label', id, 'good'], 'label')
    await printed(['tag', id, 'gateway'], 'tag')
    await printed(['set', id, '--task', 'GW-12', '--metadata', 'a=1'], 'set')
    const [tagged] = (await printed(['ls', '--tag', 'gateway'], 'ls')) as [Record<string, unknown>]
    expect(tagged).toMatchObject({ tags: ['gateway'], label: 'good', task: 'GW-12', metadata: { a: 1 } })
    await printed(['rm', told.ids[4]!, 'zzzzzz', '--yes'], 'rm')
    await printed(['rm', id, '--yes'], 'rm')
    expect(await printed(['trash'], 'trash')).toHaveLength(1)
    await printed(['restore', id], 'restore')
    await printed(['rm', '--undo', id], 'rm', 1)
    await printed(['gc', '--dry-run'], 'gc')
    await printed(['reset', `${id}:side`], 'reset')
    await printed(['verify'], 'verify')
    await printed(['backup', 'copy.db'], 'backup')
    await printed(['recover', '-o', 'new.db'], 'recover')
    await printed(['erase', told.ids[0]!, '--reason', 'a test', '--yes'], 'erase')
  })

  it('for selected fields; an unknown field is answered with the known ones', async () => {
    const listed = await here.skein(['ls', '--json=title,id', '--title', 'storm'])
    expect(JSON.parse(listed.stdout)).toEqual([{ title: 'Storm', id: told.conversation.id }])
    expect(listed.stdout.indexOf('title')).toBeLessThan(listed.stdout.indexOf('id'))
    const { stdout } = await here.skein(['--json=text,status', '-n', 'hello there'])
    expect(Object.keys(JSON.parse(stdout))).toEqual(['text', 'status'])
    const wrong = await here.skein(['branches', '--json=nmae', told.conversation.id])
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(JSON.parse(wrong.stderr).error).toMatchObject({
      message: 'there is no field nmae',
      hint: expect.stringMatching(/^There are name, active, head, /),
    })
  })

  it('for the set-up commands', async () => {
    await printed(['config'], 'config')
    await printed(['config', 'models'], 'config models')
    await printed(['config', 'get', 'conversation'], 'config get')
    await printed(['config', 'set', 'model', 'scripted', '--project'], 'config set')
    await printed(['config', 'trust'], 'config trust')
    await printed(['config', 'trust', 'ls'], 'config trust', 1)
    await printed(['config', 'trust', 'rm'], 'config trust', 2)
    await printed(['config', 'unset', 'model'], 'config unset')
    await printed(['config', 'keys'], 'config keys')
    await printed(['config', 'keys', 'rm', 'openai'], 'config keys', 2)
    await printed(['agents'], 'agents')
    await printed(['approvals', 'remembered'], 'approvals', 2)
    await printed(['approvals', 'forget', 'all'], 'approvals', 3)
    await printed(['doctor'], 'doctor')
    await printed(['migrate'], 'migrate')
    await printed(['init'], 'init')
  })

  it('for the commands of the service', async () => {
    const made = (await printed(['token', 'create', 'ci', '--scope', 'read'], 'token')) as { id: string }
    await printed(['token', 'ls'], 'token', 1)
    await printed(['token', 'revoke', made.id], 'token', 2)
    const service = start(here, ['serve', '--port', '0', '--json'])
    await service.says('}\n')
    service.kill('SIGTERM')
    const { error } = shapes.serve![0]!.schema.safeParse(JSON.parse((await service.ended).stdout))
    expect(error && z.prettifyError(error)).toBeUndefined()
  })

  it('for errors, on stderr', async () => {
    const failing = [
      ['show', 'zzzzzz'],
      ['chat', '--nonsense'],
      ['/fail once', '-n'],
    ]
    const codes: number[] = []
    for (const args of failing) {
      const { stderr, code } = await here.skein([...args, '--json'])
      expect(failureSchema.safeParse(JSON.parse(stderr)).error, args.join(' ')).toBeUndefined()
      codes.push(code)
    }
    expect(codes).toEqual([3, 2, 1])
  })

  it('for every command, or the page says that there is none', () => {
    const silent = commands.filter(({ noJson }) => noJson).map(({ name }) => name)
    expect(Object.keys(withoutJson).sort()).toEqual(silent.sort())
    const spoken = commands.filter(({ noJson }) => !noJson).map(({ name }) => name)
    expect(Object.keys(shapes).sort()).toEqual(['', ...spoken].sort())
  })
})
