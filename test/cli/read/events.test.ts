import { expect, test, vi } from 'vitest'
import { home } from '../skein.ts'
import { driving, hostile, stocked, tell } from '../stock.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

test('events lists trace events by type and page, newest first for programs', async () => {
  using here = home()
  expect(await here.skein(['events'])).toMatchObject({ code: 2, stdout: '' })
  const { conversation } = await stocked(here, async store => {
    const told = await tell(store, { directory: here.cwd, title: 'Storm' }, 'one', 'two')
    await store.addEvents(told.conversation.id, [
      { type: 'resume', data: { outcome: 'injected', told: 2 } },
      { type: 'permission', data: { tool: 'write', allowed: false } },
      { type: 'plan', data: { steps: ['look', 'write'] } },
      { type: 'degraded', data: { error: hostile } },
      { type: 'recovered', data: {} },
    ])
    return told
  })
  const lines = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map(line => line.split('\t'))
  const all = await here.skein(['events'])
  expect(lines(all.stdout).map(([n, , type]) => `${n} ${type}`)).toEqual([
    '4 recovered',
    '3 degraded',
    '2 plan',
    '1 permission',
    '0 resume',
  ])
  expect(all.stdout).not.toMatch(driving)
  expect(lines(all.stdout)[4]![3]).toBe('{"outcome":"injected","told":2}')
  const some = await here.skein([
    'events',
    'storm',
    '--type',
    'resume,plan',
    '--type',
    'permission',
    '-l',
    '2',
    '--json',
  ])
  const page = JSON.parse(some.stdout)
  expect(page).toMatchObject({ conversation: conversation.id, next: expect.any(String) })
  expect(page.events.map(({ type }: { type: string }) => type)).toEqual(['plan', 'permission'])
  const next = await here.skein(['events', 'storm', '--type', 'resume,plan,permission', '--after', page.next])
  expect(lines(next.stdout)).toHaveLength(1)
  const first = await here.skein(['events', '-l', '1'])
  expect(first.stderr).toMatch(/^older ones: --after \S+\n$/)
  expect(await here.skein(['events', '--type', 'turn_ended'])).toMatchObject({
    stdout: '',
    stderr: 'no events of type turn_ended\n',
    code: 0,
  })
  const wrong = await here.skein(['events', '--type', 'nope'])
  expect(wrong).toMatchObject({ code: 2, stdout: '' })
  expect(wrong.stderr).toContain('There are turn_started, turn_ended,')
  using run = terminal(here, ['convo', 'events'])
  expect(await run.ended).toBe(0)
  const shown = run.screen()
  expect(shown.indexOf('outcome: injected, told: 2')).toBeLessThan(shown.indexOf('recovered'))
  expect(shown.split('\n').every(line => line.length <= 80)).toBe(true)
})
