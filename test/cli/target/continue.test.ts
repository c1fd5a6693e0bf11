import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { thisHolder } from '../../../src/system/holder.ts'
import { storeOf } from '../running.ts'
import { type Home, home } from '../skein.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const day = 86_400_000

async function json(here: Home, ...args: readonly string[]) {
  const { stdout, stderr, code } = await here.skein(['--json', ...args])
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return JSON.parse(stdout)
}

describe('--continue', () => {
  it('takes one word, or words before another argument, as a target and never as a prompt', async () => {
    using here = home()
    const nothing = await here.skein(['-c', '--', 'hello'])
    expect(nothing.stderr).toContain('\nfresh: nothing to continue · kept in ')
    const first = await json(here, 'my name is Ada')
    expect(first.resumed).toBe('continued')
    const other = await json(here, '-n', 'my name is Bo')
    // Several words alone are a prompt, also with something on stdin.
    expect((await here.skein(['-c', 'who am I'])).stdout).toBe('Your name is Bo.\n')
    expect((await here.skein(['-c', 'who am I', '-q'], { input: 'notes' })).stdout).toContain('Bo')
    // Id prefixes of a conversation and of a message, and a branch.
    const short = first.conversation.slice(0, 8)
    expect((await here.skein(['-c', short, 'who am I'])).stdout).toBe('Your name is Ada.\n')
    expect((await here.skein(['-c', `${short}:main`, 'who am I'])).stdout).toBe('Your name is Ada.\n')
    expect((await here.skein(['--resume', other.conversation, 'who am I'])).stdout).toBe('Your name is Bo.\n')
    const before = (await here.skein(['tree', '--all'])).stdout
    for (const args of [
      ['-c', 'nosuch', 'hi'],
      ['-c', 'explain'],
      ['-c', 'who', 'am', 'I'],
      ['-c', '76b', 'hi'],
      ['-c', 'A better name', 'hi'],
      ['hi', '-c', 'A better name'],
      ['--continue=nosuch'],
      ['--continue=who am I'],
      ['-cnosuch', 'hi'],
      ['-c', 'zz2zzz', 'hello'],
      ['-c', '0000-000', 'hello'],
      ['-c', 'cli:none', 'hello'],
      ['-c', `${short}:none`, 'hello'],
      ['--resume', 'explain', 'hello'],
    ]) {
      const run = await here.skein(args)
      expect({ args, code: run.code, stdout: run.stdout }).toEqual({ args, code: 3, stdout: '' })
      expect(run.stderr).toMatch(/^skein: (no conversation, branch or message matches|"\w+" is too short)/)
      expect(run.stderr).toMatch(/skein (ls|search)/)
    }
    // An empty value is an unset variable of a script.
    for (const args of [
      ['-c', '', 'hi'],
      ['--continue=', 'hi'],
    ])
      expect(await here.skein(args), args[0]).toMatchObject({ code: 2, stdout: '' })
    // Nothing was asked.
    expect((await here.skein(['tree', '--all'])).stdout).toBe(before)
    expect((await here.skein(['-c', '--', 'ipv6'])).stdout).toContain('You said: "ipv6"')
  })

  it('names branches, ids and titles that are similar to an unknown target', async () => {
    using here = home()
    const first = await json(here, 'my name is Ada')
    await here.skein(['rename', first.conversation, 'A better name'])
    await here.skein(['fork', first.message, '--name', 'full-jitter'])
    const near = async (...args: readonly string[]) => (await here.skein(args)).stderr
    expect(await near('-c', 'full-jiter', 'hi')).toBe(
      'skein: no conversation, branch or message matches full-jiter. Did you mean full-jitter? Or try: skein search\n',
    )
    const short = first.conversation.slice(0, 6)
    expect(await near('-c', `${short}:ful-jitter`, 'hi')).toContain(
      `Did you mean ${short}:full-jitter? Or try: skein search`,
    )
    expect(await near('-c', 'A beter name', 'hi')).toBe(
      `skein: no conversation, branch or message matches "A beter name". Did you mean ${short} ("A better name")? Or try: skein search\n`,
    )
    const { stderr } = await here.skein(['--json', '-c', 'full-jiter', 'hi'])
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'not_found',
      candidates: [`${first.conversation}:full-jitter`],
    })
  })

  it('takes a title in the place of an id', async () => {
    using here = home()
    const ada = await json(here, 'my name is Ada')
    const bo = await json(here, '-n', 'my name is Bo')
    await here.skein(['rename', ada.conversation, 'A better name'])
    expect((await here.skein(['-c', 'a Better  name', 'who am I'])).stdout).toBe('Your name is Ada.\n')
    expect((await here.skein(['--continue=A better name', 'who am I'])).stdout).toBe('Your name is Ada.\n')
    expect((await here.skein(['-c', 'my name is Bo', 'who am I'])).stdout).toBe('Your name is Bo.\n')
    // A title alone is a target: without a terminal there is nothing to ask.
    const alone = await here.skein(['-c', 'A better name'])
    expect(alone).toMatchObject({ code: 2, stdout: '' })
    expect(alone.stderr).toContain('there is nothing to ask')
    expect((await here.skein(['show', 'A better name'])).stdout).toContain('my name is Ada')
    expect((await here.skein(['export', 'A better name'])).stdout).toContain('# A better name')
    expect((await here.skein(['tree', 'A better name'])).stdout).toContain('my name is Ada')
    expect((await here.skein(['fork', 'A better name', '--name', 'side'])).code).toBe(0)
    expect((await here.skein(['branches', 'A better name'])).stdout).toContain('side')
    await here.skein(['rename', bo.conversation, 'A better name'])
    const both = await here.skein(['-c', 'A better name', 'who am I'])
    expect(both).toMatchObject({ code: 2, stdout: '' })
    expect(both.stderr).toMatch(
      /^skein: 2 conversations have the title "A better name"\. Type an id:\n {2}[0-9a-f]{6} {2}conversation {2}now {2}A better name\n/,
    )
    await here.skein(['rename', bo.conversation, 'Another name'])
    expect((await here.skein(['rm', 'Another name', '--yes'])).stderr).toContain('in the trash')
    expect((await here.skein(['-c', 'Another name', 'who am I'])).code).toBe(3)
    expect((await here.skein(['restore', 'another name'])).stderr).toContain('restored "Another name"')
    // The name of a branch is not a name of the whole conversation.
    expect((await here.skein(['rename', 'side', 'x'])).code).toBe(3)
  })

  it('forks at an answered message, says so, and continues the fork in the next run (S3-52, C18)', async () => {
    using here = home()
    const first = await json(here, 'my name is Ada')
    const last = await json(here, 'my name is Bo')
    // The newest message of a branch has no answer, so there is no fork.
    const goesOn = await here.skein(['-c', last.message, 'who am I'])
    expect(goesOn.stderr).toContain('continuing "my name is Ada" · main · 4')
    const forked = await here.skein(['-c', first.message.slice(0, 7), 'who am I'])
    expect(forked.stderr).toContain(
      `forked at ${first.message.slice(0, 6)} as who-am-i (it already had 1 answer)\n`,
    )
    expect(forked.stdout).toBe('Your name is Ada.\n')
    const after = await here.skein(['what did I say last?'])
    expect(after.stderr).toContain('· who-am-i · 4')
    expect((await here.skein(['-c', first.message, 'x'])).stderr).toContain('as x (it already had 2 answers)')
    // Back by the name of the branch.
    expect((await here.skein(['-c', 'main', 'who am I'])).stdout).toBe('Your name is Bo.\n')
  })

  it('refuses a conversation of another directory unless forced, and accepts one without a directory (C16)', async () => {
    using here = home()
    const other = join(here.cwd, 'other')
    await mkdir(other)
    const { conversation } = await json(here, 'my name is Ada')
    const short = conversation.slice(0, 8)
    for (const args of [
      ['-c', short, 'who am I'],
      ['--resume', short, 'who am I'],
      ['fork', short],
    ]) {
      const refused = await here.skein(args, { cwd: other })
      expect(refused).toMatchObject({ code: 2, stdout: '' })
      expect(refused.stderr).toBe(`skein: ${short} belongs to ${here.cwd}. Go there, or add --force\n`)
    }
    const forced = await here.skein(['--force', '-c', short, 'who am I'], { cwd: other })
    expect(forced.stdout).toBe('Your name is Ada.\n')
    await using store = await storeOf(here)
    const { branch } = await store.create({ channel: 'discord', key: 'discord:dm:42' })
    await store.append(branch, null, [{ role: 'user', content: 'my name is Di' }])
    expect((await here.skein(['-c', 'discord:dm:42', 'who am I'])).stdout).toBe('Your name is Di.\n')
    const owned = await store.create({ owner: 'claude-code', directory: here.cwd })
    await store.append(owned.branch, null, [{ role: 'user', content: 'theirs' }])
    const theirs = await here.skein(['-c', owned.conversation.id, 'mine'])
    expect(theirs.code).toBe(2)
    expect(theirs.stderr).toContain('belongs to claude-code, which alone writes it')
    expect(theirs.stderr).toContain(`skein fork ${owned.conversation.id}`)
    const copied = await here.skein(['fork', owned.conversation.id])
    expect(copied.stderr).toMatch(
      /^copied 1 message of claude-code into a new conversation\. Continue: skein -c /,
    )
    const [, copy] = /-c (\S+)/.exec(copied.stderr)!
    expect((await here.skein(['-c', copy!, 'mine'])).code).toBe(0)
    expect(await store.getConversation(owned.conversation.id)).toMatchObject({ messages: 1, version: 2 })
    await store.trash((await store.resolve(copy!)).conversation.id)
    expect((await here.skein(['who am I'])).stdout).toBe('Your name is Ada.\n')
  })

  it('never continues a subagent’s trace or a trashed conversation (C18)', async () => {
    using here = home()
    const mine = await json(here, 'my name is Ada')
    await using store = await storeOf(here)
    const trace = await store.create({ kind: 'subagent', directory: here.cwd, label: 'subagent:x:1' })
    await store.append(trace.branch, null, [{ role: 'user', content: 'my name is Trace' }])
    expect((await here.skein(['who am I'])).stdout).toBe('Your name is Ada.\n')
    await store.trash(mine.conversation)
    const gone = await here.skein(['-c', mine.conversation, 'who am I'])
    expect(gone).toMatchObject({ code: 3 })
    expect(gone.stderr).toContain('is in the trash: restore it first')
    expect((await here.skein(['who am I'])).stderr).toMatch(/^new conversation\n/m)
  })

  it('continues an expired conversation only by name, and otherwise skips it with a note', async () => {
    using here = home()
    const { conversation } = await json(here, 'my name is Ada')
    await json(here, '-n', '--session', 'work', 'my name is Bo')
    await using store = await storeOf(here)
    const expiresAt = new Date(Date.now() - 3 * day)
    for (const { id } of (await store.listConversations()).items)
      await store.updateConversation(id, { expiresAt })
    const fresh = await here.skein(['who am I'])
    expect(fresh.stdout).toBe('You have not told me your name.\n')
    expect(fresh.stderr).toMatch(
      /\nfresh: nothing to continue\n! "my name is (Ada|Bo)" expired 3d ago\. Continue it: skein -c [0-9a-f]{6}\n/,
    )
    const renamed = await here.skein(['--session', 'work', 'who am I'])
    expect(renamed.stdout).toBe('You have not told me your name.\n')
    expect(renamed.stderr).toContain('! "my name is Bo" expired 3d ago. Continue it: skein -c ')
    const named = await here.skein(['-c', conversation, 'who am I'])
    expect(named.stdout).toBe('Your name is Ada.\n')
    expect(named.stderr).toContain('! expired 3d ago, continuing\n')
  })

  it('forks if another process is answering, and says so', async () => {
    using here = home()
    const first = await json(here, 'my name is Ada')
    await using store = await storeOf(here)
    const ref = { conversationId: first.conversation, name: 'main' }
    // This process is alive, so its turn is not taken over.
    const turn = { key: 'theirs', step: 0, status: 'open', holder: thisHolder() } as const
    await store.append(ref, first.message, [{ role: 'user', content: 'my name is Bo' }], { turn })
    const beside = await here.skein(['who am I'])
    expect(beside).toMatchObject({ code: 0, stdout: 'Your name is Ada.\n' })
    expect(beside.stderr).toContain('! another process is answering here; yours is on branch main-2\n')
    const again = await json(here, 'hello')
    expect(again).toMatchObject({ resumed: 'forked', branch: 'main-3' })
    await store.endTurn(first.conversation, 'theirs', { status: 'complete', heldBy: turn.holder })
    // A forked turn does not become the active branch of the conversation.
    expect((await here.skein(['who am I'])).stdout).toBe('Your name is Bo.\n')
  })
})

describe('fork', () => {
  it('creates a branch at a message or at the end of a conversation, and prints how to continue', async () => {
    using here = home()
    const first = await json(here, 'my name is Ada')
    await json(here, 'my name is Bo')
    const short = first.message.slice(0, 6)
    const named = await here.skein(['fork', first.message, '--name', 'sse'])
    expect(named).toEqual({
      stdout: '',
      stderr: `forked at ${short}, nothing copied. Continue: skein -c sse "…"\n`,
      code: 0,
    })
    expect((await here.skein(['who am I'])).stdout).toBe('Your name is Bo.\n')
    // A branch ends there, but the message has an answer.
    expect(await json(here, '-c', first.message, 'x')).toMatchObject({ resumed: 'forked', branch: 'x' })
    expect((await here.skein(['-c', 'sse', 'who am I'])).stdout).toBe('Your name is Ada.\n')
    expect(await json(here, 'conversation', 'fork', first.conversation)).toEqual({
      conversation: first.conversation,
      branch: 'sse-2',
      message: expect.stringMatching(/^[a-z2-7]{32}$/),
    })
    expect(await here.skein(['fork', short, '-q'])).toEqual({ stdout: '', stderr: '', code: 0 })
    const codes = await Promise.all(
      [
        ['fork', short, '--name', 'sse'],
        ['fork', short, '--name', 'a b'],
        ['fork', short, '--name', 'a:b'],
        ['fork', 'zz2zzz'],
        ['fork'],
        ['fork', short, short],
      ].map(async args => (await here.skein(args)).code),
    )
    expect(codes).toEqual([4, 2, 2, 3, 2, 2])
    // A newer conversation has a branch of the same name, so the id precedes it.
    const other = await json(here, '-n', 'hello')
    await here.skein(['fork', other.message, '--name', 'sse'])
    const again = await here.skein(['fork', first.message, '--name', 'sse-9'])
    expect(again.stderr).toContain('skein -c sse-9 "…"')
  })
})
