import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, vi } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { dataFile, storeOf } from '../running.ts'
import { commandLine, home } from '../skein.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

describe('a prompt under difficult conditions', () => {
  it('creates one conversation for many concurrent first prompts, and loses none of them', async () => {
    using here = home()
    const prompts = ['first words', 'second words', 'third words', 'fourth words']
    const runs = await Promise.all(prompts.map(prompt => here.skein(['--json', prompt])))
    expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual(prompts.map(() => [0, '']))
    const answers = runs.map(({ stdout }) => JSON.parse(stdout))
    expect(new Set(answers.map(({ conversation }) => conversation)).size).toBe(1)
    await using store = await storeOf(here)
    const { items } = await store.listMessages({ conversationId: answers[0].conversation, roles: ['user'] })
    expect(items.map(textOf).sort()).toEqual([...prompts].sort())
  })

  it('creates a conversation for each of many concurrent -n prompts', async () => {
    using here = home()
    const runs = await Promise.all(
      ['one', 'two', 'three'].map(prompt => here.skein(['--json', '-n', prompt])),
    )
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0])
    const ids = runs.map(({ stdout }) => JSON.parse(stdout).conversation)
    expect(new Set(ids).size).toBe(3)
    await using store = await storeOf(here)
    expect(ids).toContain((await store.findByKey(`cli:default@${here.cwd}`))?.conversation.id)
  })

  it('exits without a message if the reader closes the pipe', async () => {
    using here = home()
    const [file, args] = commandLine(['-m', 'scripted', '/long 200000'])
    const child = spawn(file, args, { cwd: here.cwd, env: here.env, stdio: ['ignore', 'pipe', 'pipe'] })
    let stderr = ''
    child.stderr.on('data', chunk => {
      stderr += chunk
    })
    child.stdout.once('data', () => child.stdout.destroy())
    const code = await new Promise(resolve => child.on('close', resolve))
    expect(code).toBe(0)
    expect(stderr).not.toContain('EPIPE')
    expect(stderr).not.toContain('at ')
  })

  it.runIf(process.getuid?.() === 0)('reports a store that is not writable, and answers in incognito', () => {
    using here = home()
    // Root may write anywhere, so another user runs the command.
    const { HOME, XDG_CONFIG_HOME, XDG_DATA_HOME } = here.env
    for (const folder of [
      join(here.cwd, '..'),
      HOME!,
      XDG_CONFIG_HOME!,
      join(XDG_DATA_HOME!, '..'),
      XDG_DATA_HOME!,
    ])
      chmodSync(folder, 0o755)
    const as = (...argv: readonly string[]) =>
      spawnSync(process.execPath, [join(import.meta.dirname, '../as-unprivileged.ts'), ...argv], {
        cwd: here.cwd,
        env: here.env,
        encoding: 'utf8',
        input: '',
      })
    const refused = as('hello')
    expect(refused.status).toBe(1)
    expect(refused.stdout).toBe('')
    const folder = join(XDG_DATA_HOME!, 'skein')
    expect(refused.stderr).toBe(
      `skein: cannot create ${folder}: permission denied. Use another place: --db <file>\n`,
    )
    const hidden = as('-G', 'hello')
    expect(hidden, hidden.stderr).toMatchObject({ status: 0, stdout: expect.stringContaining('Hello!') })
  })

  it('reports a damaged or newer store, and leaves it unchanged', async () => {
    using here = home()
    await here.skein(['-q', 'hello'])
    const file = dataFile(here)
    const db = new Database(file)
    db.exec("UPDATE skein_state SET value = 99 WHERE name = 'schema'")
    const future = await here.skein(['hello'])
    expect(future).toMatchObject({ code: 1, stdout: '' })
    expect(future.stderr).toContain(`skein: the store has schema version 99, this version of skein knows`)
    expect(db.prepare('SELECT count(*) FROM skein_messages').pluck().get()).toBe(2)
    db.close()
    for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true })
    writeFileSync(file, 'this is not a database, and longer than the header of one: '.repeat(100))
    const before = readFileSync(file)
    const damaged = await here.skein(['hello'])
    expect(damaged).toMatchObject({ code: 1, stdout: '' })
    expect(damaged.stderr).toBe(
      `skein: ${file} is not a Skein store, or its header is damaged. Try: skein recover ${file}\n`,
    )
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  it.runIf(existsSync('/usr/bin/strace'))('opens no file of a store in incognito (S3-54)', () => {
    using here = home()
    const [file, args] = commandLine(['-G', 'my name is Ada'])
    const trace = join(here.env.TMPDIR!, 'trace')
    const calls = ['-f', '-qq', '-e', 'trace=open,openat,creat,mkdir,mkdirat', '-o', trace]
    const run = spawnSync('/usr/bin/strace', [...calls, file, ...args], {
      cwd: here.cwd,
      // Node's compile cache, which these tests use, consists of files too.
      env: { ...here.env, NODE_DISABLE_COMPILE_CACHE: '1' },
      encoding: 'utf8',
      input: '',
    })
    expect(run.stdout).toBe('Nice to meet you, Ada.\n')
    const lines = readFileSync(trace, 'utf8').split('\n')
    expect(lines.length).toBeGreaterThan(10)
    const written = lines.filter(
      line => /O_CREAT|O_WRONLY|O_RDWR|mkdir/.test(line) && !/"\/(dev|proc)\//.test(line),
    )
    expect(written).toEqual([])
    expect(lines.filter(line => /conversations\.db|better_sqlite3|typed-lines/.test(line))).toEqual([])
  })
})
