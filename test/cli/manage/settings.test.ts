import { expect, test, vi } from 'vitest'
import { home } from '../skein.ts'
import { driving, hostile, stocked, tell } from '../stock.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

test('tag adds, lists and removes tags, and ls finds them', async () => {
  using here = home()
  const { conversation, ids } = await stocked(here, store =>
    tell(store, { directory: here.cwd, title: 'Storm' }, 'one', 'two'),
  )
  const short = conversation.id.slice(0, 6)
  expect(await here.skein(['tag', short])).toEqual({ stdout: '', stderr: 'it has no tags\n', code: 0 })
  const added = await here.skein(['tag', 'storm', 'gateway', 'urgent', 'gateway'])
  expect(added).toEqual({ stdout: '', stderr: `tags of ${short}: gateway, urgent\n`, code: 0 })
  expect((await here.skein(['tag', short])).stdout).toBe('gateway\nurgent\n')
  expect((await here.skein(['ls', '--tag', 'urgent'])).stdout).toContain('Storm')
  const removed = await here.skein(['convo', 'tag', short, '--remove', 'urgent', '--json'])
  expect(JSON.parse(removed.stdout)).toEqual({
    conversation: conversation.id,
    tags: ['gateway'],
    before: ['gateway', 'urgent'],
  })
  await here.skein(['tag', short, hostile])
  expect((await here.skein(['tag', short])).stdout).not.toMatch(driving)
  for (const args of [
    [short, '--remove'],
    [short, ' '],
    [ids[0]!, 'x'],
  ])
    expect(await here.skein(['tag', ...args]), args.join(' ')).toMatchObject({ code: 2, stdout: '' })
})

test('set changes task, project, expiry, metadata and tool results, and shows them', async () => {
  using here = home()
  const { conversation, ids } = await stocked(here, store =>
    tell(store, { directory: here.cwd, metadata: { kept: true } }, 'one', 'two'),
  )
  const { id } = conversation
  const set = (...args: readonly string[]) => here.skein(['set', id, ...args])
  const changed = await set(
    '--task',
    'GW-12',
    '--project',
    'gateway',
    '--metadata',
    'count=3',
    '--metadata',
    'v="3"',
  )
  expect(changed).toMatchObject({ code: 0, stdout: '' })
  expect(changed.stderr).toBe(
    [
      `set ${id.slice(0, 6)}`,
      '  task          GW-12',
      '  project       gateway',
      '  metadata      {"kept":true,"count":3,"v":"3"}',
      '',
    ].join('\n'),
  )
  for (const filter of [
    ['--task', 'GW-12'],
    ['--project', 'gateway'],
    ['--metadata', 'count=3', '--metadata', 'kept=true'],
    ['--metadata', 'v="3"'],
  ])
    expect((await here.skein(['ls', ...filter])).stdout, filter.join(' ')).toContain(id)
  expect((await here.skein(['ls', '--metadata', 'v=3'])).stdout).toBe('')
  await set('--expires', '30d', '--tool-results', '2000')
  await stocked(here, async store => {
    const stored = await store.getConversation(id)
    expect(stored).toMatchObject({ ttlMs: 30 * 86_400_000, toolResults: { truncate: 2_000 } })
    expect(stored.expiresAt!.getTime() - Date.now()).toBeGreaterThan(29 * 86_400_000)
  })
  const dated = JSON.parse((await set('--expires', '2027-01-31', '--json')).stdout)
  expect(dated).toMatchObject({ expires_at: '2027-01-31T00:00:00.000Z', ttl_ms: null, tool_results: 2_000 })
  await set('--clear', 'task', '--clear', 'expires', '--clear', 'tool-results')
  expect((await set()).stdout).toBe(
    [
      '  task          none',
      '  project       gateway',
      '  expires       never',
      '  metadata      {"kept":true,"count":3,"v":"3"}',
      '  tool-results  full',
      '',
    ].join('\n'),
  )
  for (const wrong of [
    ['--task', ''],
    ['--expires', 'soon'],
    ['--expires', '2027-99-99'],
    ['--metadata', 'novalue'],
    ['--tool-results', 'some'],
    ['--clear', 'title'],
    ['--clear', 'task', '--task', 'x'],
  ])
    expect(await set(...wrong), wrong.join(' ')).toMatchObject({ code: 2, stdout: '' })
  expect(await here.skein(['set', ids[0]!, '--task', 'x'])).toMatchObject({ code: 2 })
})

test('reset empties a branch and keeps its messages (S2-54)', async () => {
  using here = home()
  expect(await here.skein(['reset'])).toMatchObject({ code: 2, stdout: '' })
  await here.skein(['-q', '--session', 'work', 'My name is Ada'])
  const [listed] = JSON.parse((await here.skein(['ls', '--json'])).stdout)
  const short = listed.id.slice(0, 6)
  expect(await here.skein(['reset'])).toEqual({
    stdout: '',
    stderr: `main is empty now. Its messages are kept: skein show ${short}:before-reset-1\n`,
    code: 0,
  })
  expect((await here.skein(['show', `${short}:before-reset-1`])).stdout).toContain('My name is Ada')
  const again = await here.skein(['-q', '--session', 'work', 'what is my name?'])
  expect(again.stdout).toBe('You have not told me your name.\n')
  const json = await here.skein(['sessions', 'reset', `${short}:main`, '--json'])
  expect(JSON.parse(json.stdout)).toEqual({
    conversation: listed.id,
    branch: 'main',
    archived: 'before-reset-2',
  })
  expect((await here.skein(['reset', short])).stderr).toBe('main was empty already\n')
  const elsewhere = await here.skein(['reset', short], { cwd: here.env.HOME! })
  expect(elsewhere).toMatchObject({ code: 2, stdout: '' })
  const { stdout } = await here.skein(['show', `${short}:before-reset-1`, '--json=path'])
  expect(await here.skein(['reset', JSON.parse(stdout).path[0].id])).toMatchObject({ code: 2 })
})

test('reset keeps the stored system prompt, unless it is told to forget it', async () => {
  using here = home()
  const { conversation } = await stocked(here, store =>
    tell(store, { directory: here.cwd, prompt: 'Be brief.', promptPolicy: 'stored' }, 'one', 'two'),
  )
  const prompt = async () =>
    JSON.parse((await here.skein(['show', conversation.id, '--json'])).stdout).conversation.prompt
  await here.skein(['reset', conversation.id])
  expect(await prompt()).toMatchObject({ text: 'Be brief.', hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
  await here.skein(['reset', conversation.id, '--forget-system'])
  expect(await prompt()).toBeNull()
})
