import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agentCommand } from '../../acp/agents/harness.ts'
import { agentHome } from './with-agents.ts'

/** Settings, slash commands, files, terminals and forms of another program's agent, as a person sees them. */

describe('skein agent in a pipe', () => {
  it('sets --mode, -m and --set, keeps them for the conversation, and gives --add-dir to the agent', async () => {
    await using at = await agentHome()
    const flags = ['-n', '--mode', 'plan', '-m', 'LARGE', '--set', 'thinks=on', '--add-dir', '..']
    const set = await at.piped(flags, 'adjustable', { input: 'settings\n' })
    const directories = [join(at.here.cwd, '..')]
    expect(JSON.parse(set.stdout)).toEqual({ mode: 'plan', model: 'large', thinks: true, directories })
    const kept = await at.piped(['-c', '--mode', 'code'], 'adjustable', { input: 'settings\n/set\n' })
    const [answer, ...listed] = kept.stdout.trim().split('\n')
    expect(JSON.parse(answer!)).toEqual({ mode: 'code', model: 'large', thinks: true, directories: [] })
    expect(listed).toEqual([
      '  mode    code   ask, code, plan',
      '  llm     large  small, large',
      '  thinks  on     on, off',
    ])
    const wrong = await at.piped(['-n', '-m', 'huge'], 'adjustable', { input: 'hello\n' })
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toContain('llm: there is no "huge". The agent offers small, large')
    expect((await at.here.skein(['ls', '--json=id'])).stdout.match(/"id"/g)).toHaveLength(1)
    const missing = await at.piped(['--add-dir', 'none'], 'adjustable')
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no none') })
  })

  it('sends commands of the agent, ours come first, and refuses files and commands without --allow', async () => {
    await using at = await agentHome()
    const file = join(at.here.cwd, 'a.txt')
    const input = `/init the docs\n/compact\n//new x\n/nonsense\n/help compact\nwrite ${file} x\nrun id\nform\n`
    const run = await at.piped(['-n'], 'adjustable', { input })
    expect(run.code).toBe(1)
    expect(run.stdout).toContain('heard: /init the docs\nheard: /compact\nheard: /new x\n')
    expect(run.stdout).toContain('  /compact  Make the context shorter\n')
    expect(run.stderr).toContain('! there is no command /nonsense.')
    expect(run.stderr).toContain(
      '! not allowed: write a.txt (new file). There is no terminal to ask on; --allow allows everything\n',
    )
    expect(run.stdout).toContain('no person can be asked here')
    expect(run.stderr).toContain('! not answered: How should the service be deployed? There is no terminal')
    expect(run.stdout).toContain('{"action":"decline"}')
    expect(existsSync(file)).toBe(false)
    const outside = join(at.here.cwd, '../out.txt')
    const allowed = await at.piped(['-n', '--allow'], 'adjustable', {
      input: `write ${file} x\nrun echo hi\nwrite ${outside} x\n`,
    })
    expect(allowed.stdout).toContain('written\nexit 0, 3 characters\nrefused: -32603')
    expect(allowed.stderr).toContain(
      '(outside the project). There is no terminal to ask on; --allow does not',
    )
    expect(readFileSync(file, 'utf8')).toBe('x')
    const found = await at.here.skein(['search', 'hi'])
    expect(found.stdout).toContain('hi')
  })
})

describe('skein agent on a terminal', () => {
  it('offers modes and options in lists and with Tab, before the first message, and lists the commands of the agent', async () => {
    await using at = await agentHome()
    using chat = at.onTerminal(['-n'], 'adjustable')
    await chat.see('› ')
    chat.type('/mode\r')
    await chat.seeNext(/Which mode\?[\s\S]*› ASK \(now\)[\s\S]*PLAN/)
    chat.type('\x1b[B\r')
    await chat.seeNext('mode is CODE now')
    await chat.seeNext(/adjustable · SMALL · CODE · \/help\n› $/)
    chat.type('/set th\t')
    await chat.seeNext('/set thinks ')
    chat.type('o\t')
    await chat.seeNext('on  off')
    chat.type('n\r')
    await chat.seeNext('thinks is on now')
    chat.type('/help\r')
    await chat.seeNext(/\/mode \/model \/set[\s\S]*adjustable has its own:\n {2}\/init \/compact \/\/new\n/)
    chat.type('/ini\t')
    await chat.seeNext('/init ')
    chat.type('now\r')
    await chat.seeNext('heard: /init now')
    chat.type('mode plan\r')
    await chat.seeNext('mode: plan, changed by the agent')
    await chat.seeNext(/SMALL · PLAN · \/help\n› $/)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
    expect(at.processes()).toEqual([])
  })

  it('shows the change before it writes a file, asks before a command, and fills in a form', async () => {
    await using at = await agentHome()
    const file = join(at.here.cwd, 'a.txt')
    writeFileSync(file, 'old\n')
    using chat = at.onTerminal(['-n'], agentCommand('adjustable'), { columns: 80 })
    await chat.see('› ')
    chat.type(`write ${file} new\r`)
    await chat.seeNext(/1 - old\n +1 \+ new\n\? write a\.txt {2}y once · c in this conversation/)
    chat.type('n')
    await chat.seeNext('refused: -32603 The person was asked')
    chat.type(`write ${file} new\r`)
    await chat.seeNext('? write a.txt')
    chat.type('y')
    await chat.seeNext('written')
    expect(readFileSync(file, 'utf8')).toBe('new')
    chat.type('run seq 1 3\r')
    await chat.seeNext('? run GREETING=hello seq 1 3')
    chat.type('y')
    await chat.seeNext('exit 0, 6 characters')
    // A command that does not fit into the question is shown in full.
    chat.type(`run true ${'x'.repeat(90)} last-word\r`)
    await chat.seeNext(/\n {4}x+ last-word\n\? run GREETING=hello true x+…/)
    chat.type('n')
    await chat.seeNext('refused: -32603')
    chat.type('form\r')
    await chat.seeNext(/\? How should the service be deployed\?\n {2}1\/5 Name/)
    chat.type('x\r')
    await chat.seeNext('! at least 2 characters')
    chat.type('shop\r')
    await chat.seeNext('2/5 Port [8080]')
    chat.type('\r')
    await chat.seeNext(/3\/5 Region\n +1 eu\n +2 us/)
    chat.type('2\r')
    await chat.seeNext('4/5 TLS (yes or no) [yes]')
    chat.type('no\r')
    await chat.seeNext('5/5 Note')
    chat.type('\r')
    await chat.seeNext('"name":"shop","port":8080,"region":"us","tls":false')
    chat.type('form\r')
    await chat.seeNext('1/5 Name')
    chat.type('\x1b')
    await chat.seeNext('{"action":"cancel"}')
    chat.type('page\r')
    await chat.seeNext(/https:\/\/example\.com\/sign-in\n {2}y opened · n no · esc cancels/)
    chat.type('n')
    await chat.seeNext('{"action":"decline"}')
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
  })
})
