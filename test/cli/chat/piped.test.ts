import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { slashCommands } from '../../../src/cli/chat/slash/index.ts'
import { modelHome, models } from '../real-model.ts'
import { home } from '../skein.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

describe('chat in a pipe', () => {
  it('reads lines, prints answers, and ends with the input', async () => {
    using here = home()
    const input = 'My name is Ada\n\nwhat is my name?\n'
    const first = await here.skein(['chat'], { input })
    expect(first).toMatchObject({ stdout: 'Nice to meet you, Ada.\nYour name is Ada.\n', code: 0 })
    expect(first.stderr).toContain('new conversation · kept in')
    for (const sign of ['\x1b', '›']) expect(first.stdout + first.stderr).not.toContain(sign)

    const second = await here.skein(['chat', '-q'], { input: 'what did I say first?' })
    expect(second).toMatchObject({
      stdout: 'The first thing you said was: "My name is Ada"\n',
      stderr: '',
      code: 0,
    })
    expect((await here.skein(['chat', '-q'], { input: '' })).code).toBe(0)
    // Lines from a pipe are not added to the input history.
    expect(existsSync(join(here.env.XDG_DATA_HOME!, 'skein/typed-lines'))).toBe(false)
  })

  it('names ignored options once, and the commands of a chat for the demo model', async () => {
    await using here = await modelHome(['Red.'], models.openai)
    const input = 'why?\nand now?\n/model scripted\n'
    const { stdout, stderr } = await here.skein(['chat', '-o', 'seed=7', '-o', 'temperature=0.2'], { input })
    expect(stdout).toBe('Red.\nRed.\n')
    expect(stderr.match(/^! gpt-5.*/gm)).toEqual([
      '! gpt-5.5 ignores seed: the API of openai does not support it',
      '! gpt-5.5 does not use temperature as given: temperature is not supported for reasoning models',
    ])
    expect(stderr).toContain(
      'the demo model does not answer in it. In a new one: /new, then /model scripted\n',
    )
  })

  it('continues after a failed line, and reports it in the exit code', async () => {
    using here = home()
    const failing = await here.skein(['chat', '-q'], { input: '/fail 500\nhello\n' })
    expect(failing.stdout).toContain('Hello!')
    expect(failing.stderr).toBe('skein: scripted: answered 500, as it was told to\n')
    expect(failing.code).toBe(1)
  })

  it('runs all / commands that need no terminal (S0-45)', async () => {
    using here = home()
    const run = (...lines: readonly string[]) => here.skein(['chat'], { input: `${lines.join('\n')}\n` })
    const help = await run('/help', '/help fork', '/help nonsense', '/history', '/undo', '/title')
    const [list = ''] = help.stdout.split('  Alt+Enter')
    const named = Array.from(list.matchAll(/\/(\w+)/g), ([, name]) => name)
    // Each command once, and no unknown one.
    const ours = slashCommands.filter(({ of }) => of !== 'other agent')
    expect(new Set(named)).toEqual(new Set(ours.map(({ name }) => name)))
    expect(help.stdout).not.toContain('/mode ')
    expect(list).toContain('  /fork /retry /edit /undo       branch off; nothing is deleted\n')
    expect(help.stdout).toMatch(/^ {2}\/fork \[id\] {2}start a branch at a question or a message$/m)
    expect(help.stderr).toContain('there is no command /nonsense. /help lists them')
    const all =
      'new clear history tree fork switch resume search title model context compact retry edit undo export help quit'
    expect(named).toEqual(expect.arrayContaining(all.split(' ')))
    expect(help.stdout.split('\n').every(line => line.length < 80)).toBe(true)

    expect(help.stderr.match(/there are no messages here yet/g)).toHaveLength(3)
    expect(help.code).toBe(1)

    await run('tell me about the certificate', '/title Certificates', '/model scripted')
    const looks = await run('/title', '/model', '/history', '/tree', '/search certificate', '/context')
    expect(looks.stdout).toMatch(/^Certificates\nscripted\n/)
    expect(looks.stdout).toMatch(/## You \(/)
    expect(looks.stdout).toMatch(/\[USER\] tell me about the certificate/)
    expect(looks.stdout).toMatch(/what the next call sees: \d+ of 102k \(0%\), scripted/)
    expect(looks.stdout).toMatch(/kept .* 2 messages word for word, from [a-z2-7]{6} on/)
    expect(looks.code).toBe(0)

    const moves = ['/retry', '/undo', 'something else', '/switch main', '/history']
    const forks = await run(...moves, '/export talk.html', '/export')
    expect(forks.stderr).toContain('asking again. The answer so far is kept on main: /switch main')
    expect(forks.stderr).toContain(
      'went back one message; the next one makes a new branch. The rest is kept on tell-me-about: /switch tell-me-about',
    )
    expect(forks.stderr).toContain('now on main')
    expect(forks.stdout.slice(forks.stdout.indexOf('# Certificates'))).not.toContain('something else')
    const tree = await here.skein(['tree'])
    // /retry answers the same message.
    expect(tree.stdout.match(/\[USER\]/g)).toHaveLength(2)

    expect(forks.code).toBe(0)
    expect(readFileSync(join(here.cwd, 'talk.html'), 'utf8')).toContain('<!doctype html>')
    expect(readdirSync(here.cwd).filter(name => name.endsWith('.md'))).toHaveLength(1)

    const refused = await run(
      '/edit',
      '/fork',
      '/switch',
      '/resume',
      '/clear',
      '/search',
      '/model unknown/x',
      '/nwe',
    )
    expect(refused.code).toBe(1)
    for (const words of [
      '/edit needs a terminal',
      '/fork needs an id here',
      '/switch needs a branch here',
      '/resume needs an id here',
      '/clear deletes, so it needs --yes here. /new keeps everything',
      '/search needs words',
      'there is no command /nwe. Did you mean /new?',
    ])
      expect(refused.stderr).toContain(words)

    const said = await run('//new', '/usr/bin/skein is there', '/quit', 'never said')
    expect(said.code).toBe(0)
    const { stdout } = await here.skein(['tree'])
    expect(stdout).toContain('[USER] /new')
    expect(stdout).toContain('[USER] /usr/bin/skein is there')
    expect(stdout).not.toContain('never said')
  })

  it('refuses unknown / commands and never sends them', async () => {
    using here = home()
    const lines = ['/foo', '/attack x', '/foo-bar', '/tmp is full', '/', '/?']
    const refused = await here.skein(['chat'], { input: `${lines.join('\n')}\n` })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    for (const line of lines) {
      const [name] = line.split(' ')
      const known = name === '/attack' ? 'Did you mean /attach?' : '/help lists the commands.'
      expect(refused.stderr).toContain(
        `! there is no command ${name}. ${known} To send it as text: /${line}\n`,
      )
    }
    expect((await here.skein(['ls', '--json'])).stdout).toBe('[]\n')
    const sent = await here.skein(['chat', '-q'], { input: '//foo\n/* a comment */\n' })
    expect(sent.code).toBe(0)
    const { stdout } = await here.skein(['tree'])
    expect(stdout).toContain('[USER] /foo')
    expect(stdout).toContain('[USER] /* a comment */')
  })

  it('starts a new conversation with /new, and trashes the old one with /clear (S0-44, S0-46)', async () => {
    using here = home()
    await here.skein(['chat', '-q'], { input: 'one\n/new\ntwo\n' })
    const listed = JSON.parse((await here.skein(['ls', '--json'])).stdout)
    expect(listed.map(({ title }: { title: string }) => title)).toEqual(['two', 'one'])
    expect(listed.map(({ key }: { key: string | null }) => key !== null)).toEqual([true, false])

    const cleared = await here.skein(['chat'], { input: '/clear --yes\nthree\n' })
    expect(cleared.stderr).toMatch(/moved to trash: 2 messages on 1 branch\. Undo: skein restore \w+/)
    const rest = JSON.parse((await here.skein(['ls', '--json'])).stdout)
    expect(rest.map(({ title }: { title: string }) => title)).toEqual(['three', 'one'])
    const [, id] = /skein restore (\S+)/.exec(cleared.stderr)!
    expect((await here.skein(['restore', id!])).code).toBe(0)
    expect((await here.skein(['show', id!])).stdout).toContain('two')
  })

  it('moves the key of a named conversation along with the chat (S0-43)', async () => {
    using here = home()
    await here.skein(['chat', '-q', '--session', 'work'], {
      input: 'My name is Ada\nMy name is Bob\n/undo\n',
    })
    const work = (input: string) => here.skein(['chat', '-q', '--session', 'work'], { input })
    // Nothing was said after /undo, so nothing has changed.
    expect((await work('what is my name?\n')).stdout).toBe('Your name is Bob.\n')
    await work('/undo\n/undo\nI like tea\n')
    expect((await work('what is my name?\n')).stdout).toBe('Your name is Ada.\n')
  })

  it('makes a branch only with the next message, named after its first words', async () => {
    using here = home()
    const chat = (...lines: readonly string[]) =>
      here.skein(['chat', '-q'], { input: `${lines.join('\n')}\n` })
    const branches = async () =>
      JSON.parse((await here.skein(['branches', '--json'])).stdout).map(({ name }: { name: string }) => name)
    await chat('Poll instead of push?', '/undo')
    await chat('/undo', '/title')
    expect(await branches()).toEqual(['main'])
    await chat('/undo', 'Use full jitter with a 30 s cap, and keep sockets alive')
    await chat('/undo', 'Use full jitter', '/undo', '日志里说什么', '/undo', '🙂 !!!')
    expect(await branches()).toEqual([
      'main',
      'use-full-jitter',
      'use-full-jitter-2',
      '日志里说什么',
      '日志里说什么-2',
    ])
    // An empty path: the whole conversation was undone.
    const undone = await here.skein(['chat', '-q'], { input: '/undo\n/history\n' })
    expect(undone.stdout).toBe('')
  })

  it('gives a second answer to the same message with /retry', async () => {
    using here = home()
    await here.skein(['chat', '-q'], { input: 'My name is Ada\n/retry\n/retry\n' })
    const list = JSON.parse((await here.skein(['tree', '--json'])).stdout)
    const [asked] = list
    expect(list.map(({ role }: { role: string }) => role)).toEqual([
      'user',
      'assistant',
      'assistant',
      'assistant',
    ])
    for (const answer of list.slice(1)) expect(answer.parent).toBe(asked.id)
    const branches = JSON.parse((await here.skein(['branches', '--json'])).stdout)
    expect(branches.map(({ name }: { name: string }) => name).sort()).toEqual([
      'main',
      'my-name-is-ada',
      'my-name-is-ada-2',
    ])
    // A message without an answer gets its first one on its own branch.
    await here.skein(['chat', '-q', '-n'], { input: '/fail 500\n/retry\n' })
    expect(JSON.parse((await here.skein(['branches', '--json'])).stdout)).toHaveLength(1)
  })

  it('makes a summary with /compact, and keeps the summarised messages', async () => {
    using here = home()
    const lines = Array.from({ length: 12 }, (_, n) => `fact number ${n} is ${n * n}`)
    const run = await here.skein(['chat'], { input: `${lines.join('\n')}\n/compact\n/context\n` })
    expect(run.stderr).toMatch(/summary: \d+ messages are now \d+ tokens\. All are kept\. \/context/)
    expect(run.stdout).toMatch(/summary .* replaces \d+ messages/)
    expect((await here.skein(['tree'])).stdout.match(/\[USER\]/g)).toHaveLength(12)
  })

  it('refuses contradicting flags and unknown ids', async () => {
    using here = home()
    const codes = await Promise.all([
      here.skein(['resume']),
      here.skein(['resume', 'nobody1']),
      here.skein(['chat', '-n', '-c']),
      here.skein(['chat', '-c', 'nothing']),
      here.skein(['chat', '--json']),
      here.skein(['chat', 'hello']),
      here.skein(['chat', '-m', 'anthropic/claude-sonnet-4-5']),
    ])
    expect(codes.map(({ code }) => code)).toEqual([2, 3, 2, 3, 2, 2, 1])
    expect(codes[0]!.stderr).toBe('skein: resume needs an id here. skein ls lists them\n')
    expect(codes[6]!.stderr).toContain('ANTHROPIC_API_KEY')
  })

  it('forks if it continues from an answered message (C18)', async () => {
    using here = home()
    await here.skein(['chat', '-q'], { input: 'My name is Ada\nMy name is Bob\n' })
    const [{ id }] = JSON.parse((await here.skein(['ls', '--json'])).stdout)
    const { path } = JSON.parse((await here.skein(['show', '--json', id])).stdout)
    const run = await here.skein(['chat', '-c', path[1].id], { input: 'what is my name?\n/title\n' })
    expect(run.stderr).toMatch(/your next message forks at \w+ \(it already has 1 answer\)/)
    expect(run.stdout).toBe('Your name is Ada.\nMy name is Ada\n')
    const left = await here.skein(['chat', '-c', path[1].id], { input: '' })
    expect(left.stderr).toContain('(it already has 2 answers)')
    // A chat without messages creates nothing.
    const branches = JSON.parse((await here.skein(['branches', '--json', id])).stdout)
    expect(branches.map(({ name }: { name: string }) => name)).toEqual(['main', 'what-is-my-name'])
  })

  it('continues the conversation that resume names (S1-1, S1-36)', async () => {
    using here = home()
    await here.skein(['-q', 'My name is Ada'])
    await here.skein(['-q', '-n', 'another one'])
    const [, ada] = JSON.parse((await here.skein(['ls', '--json'])).stdout)
    const run = await here.skein(['resume', ada.id.slice(0, 8)], { input: 'what is my name?\n' })
    expect(run.stderr).toContain('continuing "My name is Ada"')
    expect(run.stdout).toBe('Your name is Ada.\n')
    const flagged = await here.skein(['-q', '--resume', ada.id, 'what is my name?'])
    expect(flagged).toMatchObject({ stdout: 'Your name is Ada.\n', code: 0 })
  })
})
