import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { commandShapes as shapes } from '../../../src/api/schema/command/index.ts'
import { start } from '../running.ts'
import { type Home, home } from '../skein.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

/** Runs a command with `--json`, and checks its output against the documented shape. */
async function json<T = Record<string, unknown>>(here: Home, verb: string, ...args: string[]): Promise<T> {
  const { stdout, stderr } = await here.skein(['dispatch', verb, ...args, '--json'])
  expect(stderr).toBe('')
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  for (const value of lines) {
    const { error } = shapes[`dispatch ${verb}`]![0]!.schema.safeParse(value)
    expect(error && z.prettifyError(error)).toBeUndefined()
  }
  return (verb === 'work' ? lines : lines[0]) as T
}

test('submits a task, does it, and continues it with full context (S2-2, S2-64, S2-65)', async () => {
  using here = home()
  const submitted = await here.skein(['dispatch', 'submit', '--project', 'web', 'My name is Ada.'])
  expect(submitted).toMatchObject({ code: 0, stdout: 'T-1\n' })
  expect(submitted.stderr).toContain('task T-1, queued')
  const worked = await here.skein(['dispatch', 'work', '--workers', '2', '--until-idle', '--name', 'w'])
  expect(worked.code).toBe(0)
  expect(worked.stdout).toMatch(/^T-1 #1 done in .+\n$/)
  expect(worked.stderr).toMatch(/T-1 #1 started by w-[12]: My name is Ada\./)
  const asked = await here.skein(['dispatch', 'run', 'T-1', 'What', 'is my name?'])
  expect(asked).toMatchObject({ code: 0, stdout: 'Your name is Ada.\n' })
  // A person joins the same conversation.
  const joined = await here.skein(['-c', 'task:T-1', 'What is my name?'])
  expect(joined).toMatchObject({ code: 0, stdout: 'Your name is Ada.\n' })
  const shown = await json(here, 'show', 'T-1')
  expect(shown).toMatchObject({ id: 'T-1', project: 'web', status: 'done', dispatches: 2 })
  const text = await here.skein(['dispatch', 'show', 'task:T-1'])
  expect(text.stdout).toMatch(/^T-1 {2}done\ndescription +My name is Ada\.\nproject +web\n/)
  expect(text.stdout).toMatch(/\n#2 {2}done\nwords +What is my name\?\n/)
  const conversation = await here.skein(['show', 'task:web/T-1', '--json'])
  expect(JSON.parse(conversation.stdout).path).toHaveLength(6)
})

test('lists tasks by state, project and age', async () => {
  using here = home()
  await here.skein(['dispatch', 'submit', '--id', 'a', '--project', 'web', 'one'])
  await here.skein(['dispatch', 'submit', '--id', 'b', 'two'])
  await here.skein(['dispatch', 'run', 'a'])
  const ids = async (...args: string[]) =>
    (await json<{ id: string }[]>(here, 'ls', ...args)).map(({ id }) => id)
  expect(await ids()).toEqual(['b', 'a'])
  expect(await ids('--status', 'done')).toEqual(['a'])
  expect(await ids('--project', 'web')).toEqual(['a'])
  expect(await ids('--older-than', '1h')).toEqual([])
  expect(await ids('--newer-than', '1h', '-l', '1')).toEqual(['b'])
  const plain = await here.skein(['dispatch'])
  expect(plain.stdout).toMatch(/^b\tqueued\t\t1\t.+Z\ttwo\na\tdone\tweb\t1\t.+Z\tone\n$/)
  expect(await here.skein(['dispatch', 'ls', '--status', 'nope'])).toMatchObject({ code: 2 })
})

test('cancels, retries and deletes tasks; their conversations go to the trash (S2-14)', async () => {
  using here = home()
  await here.skein(['dispatch', 'submit', 'My name is Ada.'])
  expect(await json(here, 'cancel', 'T-1')).toMatchObject([{ status: 'cancelled' }])
  expect(await json(here, 'retry', 'T-1')).toMatchObject([{ status: 'queued' }])
  expect(await here.skein(['dispatch', 'retry', 'T-1'])).toMatchObject({ code: 2 })
  const result = await json<{ conversation_id: string }>(here, 'run', 'T-1')
  const removed = await json(here, 'rm', 'T-1')
  expect(removed).toEqual({ tasks: 1, trashed: [result.conversation_id] })
  expect(await here.skein(['dispatch', 'show', 'T-1'])).toMatchObject({
    code: 3,
    stderr: 'skein: there is no task "T-1". skein dispatch ls lists tasks\n',
  })
  expect((await here.skein(['trash', '--json=id'])).stdout).toContain(result.conversation_id)
  await here.skein(['dispatch', 'submit', '--project', 'web', 'one'])
  expect(await here.skein(['dispatch', 'rm', '--project', 'web'])).toMatchObject({ code: 2 })
  expect(await json(here, 'rm', '--project', 'web', '--yes')).toMatchObject({ tasks: 1 })
})

test('says that a task is done instead of cancelling it, and cancels the others', async () => {
  using here = home()
  for (const id of ['done', 'queued']) await here.skein(['dispatch', 'submit', '--id', id, 'Hello'])
  await here.skein(['dispatch', 'run', 'done'])
  const cancelled = await here.skein(['dispatch', 'cancel', 'done', 'queued'])
  expect(cancelled).toMatchObject({ code: 2, stdout: 'queued\tcancelled\n' })
  expect(cancelled.stderr).toContain('"done" is done: only a queued or running task is cancelled')
  expect(await json(here, 'show', 'done')).toMatchObject({ status: 'done' })
})

test('reports a failed task with its reason and exit code 1', async () => {
  using here = home()
  await here.skein(['dispatch', 'submit', '/fail hard'])
  const failed = await here.skein(['dispatch', 'work', '--until-idle'])
  expect(failed).toMatchObject({ code: 1, stdout: expect.stringMatching(/^T-1 #1 failed in /) })
  expect(await json(here, 'show', 'T-1')).toMatchObject({
    status: 'failed',
    runs: [{ error: expect.stringMatching(/./) }],
  })
})

test('stores no conversation for a project whose conversations are off (S2-56)', async () => {
  using here = home()
  writeFileSync(join(here.cwd, 'skein.yaml'), 'projects:\n  plain:\n    conversations: off\n')
  await here.skein(['dispatch', 'submit', '--project', 'plain', 'My name is Ada.'])
  const [result] = await json<[Record<string, unknown>]>(here, 'work', '--until-idle')
  expect(result).toMatchObject({ conversation_id: null, success: true })
  expect((await here.skein(['ls', '--all', '--json'])).stdout).toBe('[]\n')
})

test('takes the expiry of the configuration (S2-31, S2-46)', async () => {
  using here = home()
  const yaml = 'conversation:\n  session_expiration: 2h\n  expiration_from: creation\n'
  writeFileSync(join(here.cwd, 'skein.yaml'), yaml)
  await here.skein(['dispatch', 'submit', 'My name is Ada.'])
  const before = Date.now()
  const { conversation_id } = await json<{ conversation_id: string }>(here, 'run', 'T-1')
  const set = await here.skein(['set', conversation_id, '--json'])
  const { expires_at, ttl_ms } = JSON.parse(set.stdout)
  expect(ttl_ms).toBe(null)
  expect(Date.parse(expires_at) - before).toBeGreaterThanOrEqual(7_200_000 - 1)
  expect(Date.parse(expires_at) - Date.now()).toBeLessThanOrEqual(7_200_000)
})

test('asks for the project if several have the task, and refuses bad input', async () => {
  using here = home()
  const { openStore } = await import('../../../src/stores/open.ts')
  const { storeFile } = await import('../stock.ts')
  await here.skein(['dispatch', 'submit', 'one'])
  const store = await openStore(storeFile(here))
  for (const project of ['one', 'two']) await store.create({ task: 'X-1', project, title: `of ${project}` })
  await store.close()
  const both = await here.skein(['show', 'task:X-1'])
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('task:X-1') })
  expect(await here.skein(['show', 'task:two/X-1'])).toMatchObject({ code: 0 })
  expect(await here.skein(['show', 'task:none'])).toMatchObject({ code: 3 })
  expect(await here.skein(['dispatch', 'run', 'none'])).toMatchObject({ code: 3 })
  expect(await here.skein(['dispatch', 'submit', ' '])).toMatchObject({ code: 2 })
  expect(await here.skein(['dispatch', 'submit', '--id', 'x'.repeat(600), 'd'])).toMatchObject({ code: 2 })
  expect(await here.skein(['dispatch', 'work', '--workers', 'many'])).toMatchObject({ code: 2 })
})

test.each(['SIGINT', 'SIGTERM'] as const)('a worker without a dispatch ends at %s', async signal => {
  using here = home()
  const worker = start(here, ['dispatch', 'work'])
  await worker.complains('Ctrl+C stops')
  worker.kill(signal)
  await worker.ended
})
