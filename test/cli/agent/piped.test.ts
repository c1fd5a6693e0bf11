import { describe, expect, it } from 'vitest'
import { agentCommand } from '../../acp/agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../../acp/agents/model-server.ts'
import { agentHome, asks } from './with-agents.ts'

const [first, second, third] = [marker('first'), marker('second'), marker('third')]

describe('skein agent in a pipe', () => {
  it('stores the conversation, prints how the agent remembers it, and continues it in another agent', async () => {
    await using at = await agentHome()
    const begun = await at.piped([], 'forgetful', { input: `${first}\n` })
    expect(begun).toMatchObject({
      code: 0,
      stdout: `${answerMarker(1)} I heard 1 user turns; markers: first\n`,
    })
    expect(begun.stderr).toContain('new conversation · kept in')
    expect(begun.stderr).toContain('  memory: new to this conversation\n')

    const again = await at.piped(['-c'], 'forgetful', { input: `${second}\n` })
    expect(again.stderr).toContain(`continuing "${first}" · main · 2`)
    expect(again.stderr).toContain('  memory: told 2 messages as text\n')
    expect(again.stderr).not.toContain('began with')
    for (const text of [first, answerMarker(1), second]) expect(timesGiven(at.model.last, text)).toBe(1)

    const listed = await at.here.skein(['ls', '--json'])
    const [{ id }] = JSON.parse(listed.stdout) as [{ id: string }]
    const other = await at.piped(['--resume', id], agentCommand('good'), { input: `${third}\n` })
    expect(other.stderr).toContain(
      '! began with forgetful: good is told the conversation as text, tool calls and long results shortened\n',
    )
    expect(other.stderr).toContain('  memory: told 4 messages as text')
    for (const text of [first, second, third]) expect(timesGiven(at.model.last, text)).toBe(1)
    const back = await at.piped(['--resume', id], 'good', { input: 'and now?\n' })
    expect(back.stderr).toContain('  memory: resumed\n')
    expect(back.stderr).not.toContain('began with')
    expect(at.processes()).toEqual([])
  })

  it('gives the agent --system before everything else, and keeps it for the conversation (S4-17)', async () => {
    await using at = await agentHome()
    const given = () => timesGiven(at.model.last, 'Be terse.')
    await at.piped(['--system', 'Be terse.'], 'forgetful', { input: `${first}\n${second}\n` })
    expect(given()).toBe(1)
    await at.piped(['-c'], 'forgetful', { input: `${third}\n` })
    expect(given()).toBe(1)
    for (const text of [first, second, third]) expect(timesGiven(at.model.last, text)).toBe(1)
    const shown = await at.here.skein(['show'])
    expect(shown.stdout).not.toContain('Be terse.')
  })

  it('passes the words after -- unchanged, and requires a command there', async () => {
    await using at = await agentHome()
    const speaks = await at.piped(
      ['-q', '--name', 'mine'],
      [
        process.execPath,
        '-e',
        'console.error(process.argv.slice(1).join("|")); process.exit(9)',
        '--',
        '--resume',
        '-q',
        'a b',
        '',
      ],
      { input: 'hello\n' },
    )
    expect(speaks.stderr).toBe(
      'skein: mine: it ended (code 9): --resume|-q|a b|. The conversation is stored; the next message starts the agent again\n',
    )
    expect(speaks.code).toBe(1)
    const nothing = await at.here.skein(['agent', '-n'])
    expect(nothing).toMatchObject({
      code: 2,
      stderr:
        'skein: agent needs a name, or a command behind --. skein agents lists the names. A command: skein agent -- copilot --acp --stdio\n',
    })
    const tooMany = await at.piped(['--tell', '51'], 'forgetful')
    expect(tooMany).toMatchObject({
      code: 2,
      stderr: 'skein: --tell needs a number of tokens from 1000. --tell 24000\n',
    })
    const missing = await at.piped([], ['no-such-agent', '--acp'], { input: 'hello\n' })
    expect(missing.stderr).toMatch(/^skein: no-such-agent: it ended \(code 127\): .*no-such-agent.*$/m)
    expect(missing.code).toBe(1)
  })

  it('refuses every permission request with a note; --allow grants them', async () => {
    await using at = await agentHome()
    at.model.next(asks, { type: 'text', text: 'So be it.' })
    const refused = await at.piped([], 'good', { input: 'write\n' })
    expect(refused.stderr).toContain(
      '! not allowed: Write a.txt. There is no terminal to ask on; --allow allows everything\n',
    )
    at.model.next(asks, { type: 'plan', steps: ['look', 'write'] }, { type: 'text', text: 'Written.' })
    const allowed = await at.piped(['--allow'], 'good', { input: 'write\n' })
    expect(allowed.stderr).toContain('  allowed: Write a.txt\n')
    expect(allowed.stderr).toContain('  plan: look\n  plan: write\n')
    expect(allowed.stdout).toBe('Written.\n')
  })

  it('runs every command of a chat: those that move the branch start over with the agent, those about a model are refused (S4-27)', async () => {
    await using at = await agentHome()
    const input = `${first}\n${second}\n/undo\n${third}\n/model\n/context\n/compact\n/title Mine\n/history\n`
    const run = await at.piped([], 'good', { input })
    expect(run.code).toBe(1)
    expect(run.stderr).toContain(
      'went back one message; the next one makes a new branch. The rest is kept on main: /switch main',
    )
    expect(run.stderr).toContain('  memory: told 2 messages as text')
    const texts = [first, answerMarker(1), second, third]
    expect(texts.map(text => timesGiven(at.model.last, text))).toEqual([1, 1, 0, 1])
    expect(run.stderr).toContain('skein: good offers no model to choose. /set lists its options\n')
    for (const name of ['context', 'compact'])
      expect(run.stderr).toContain(`! /${name} does not apply here: good chooses its own context\n`)
    expect(run.stdout).toContain('# Mine')
    const after = await at.piped(['-q'], 'good', { input: `/switch main\nand here?\n/retry\n` })
    expect(after.code).toBe(0)
    const retried = at.model.turns.at(-1)!
    expect(retried.messages.at(-1)!.text).toContain('and here?')
    expect(timesGiven(retried, 'and here?')).toBe(1)
    expect([first, second, third].map(text => timesGiven(retried, text))).toEqual([1, 1, 0])
  })
})
