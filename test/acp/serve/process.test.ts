import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commandLine, home } from '../../cli/skein.ts'
import { only, wordsIn } from './editor.ts'
import { startEditor } from './editor-process.ts'

const server = join(import.meta.dirname, '../../support/mcp-stdio.ts')

describe('skein acp', () => {
  it('stores its conversations where the command line finds them, and finds those of the command line', async () => {
    using here = home()
    const editor = await startEditor(here)
    const { sessionId } = await editor.begin()
    await editor.prompt(sessionId, 'My dog is called Rex.')
    const shown = await here.skein(['show', sessionId])
    expect(shown.stdout).toContain('Noted: My dog is called Rex.')
    const answer = await here.skein(['-c', 'What did I say first?'])
    expect(answer.stdout).toContain('My dog is called Rex.')
    expect(await editor.leave()).toMatchObject({ code: 0 })

    await using again = await startEditor(here)
    const { sessions } = await again.agent.request('session/list', { cwd: here.cwd })
    expect(sessions).toMatchObject([{ sessionId, cwd: here.cwd, title: 'My dog is called Rex.' }])
    await again.agent.request('session/load', { sessionId, cwd: here.cwd, mcpServers: [] })
    const [first, second, third] = wordsIn(again.shown(sessionId))
    expect([first, second, third]).toEqual([
      'user: My dog is called Rex.',
      'agent: Noted: My dog is called Rex.',
      'user: What did I say first?',
    ])
    // Four processes, one after the other.
  }, 60_000)

  it('asks to sign in if the key of its model is missing, and names the variable', async () => {
    using here = home()
    await using editor = await startEditor(here, ['-m', 'sonnet'])
    const { sessionId } = await editor.begin()
    await expect(editor.prompt(sessionId, 'Hello')).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('ANTHROPIC_API_KEY'),
    })
  })

  it('loses nothing that has arrived when it is killed, and continues after a load', async () => {
    using here = home()
    const editor = await startEditor(here)
    const { sessionId } = await editor.begin()
    await editor.prompt(sessionId, 'My dog is called Rex.')
    editor.forget()
    void editor
      .prompt(sessionId, '/slow 60 one two three four five six seven eight nine ten')
      .catch(() => null)
    await editor.until(() => wordsIn(editor.shown(sessionId)).join().includes('six'))
    await editor.kill()

    await using again = await startEditor(here)
    await again.agent.request('session/load', { sessionId, cwd: here.cwd, mcpServers: [] })
    const words = wordsIn(again.shown(sessionId))
    expect(words.slice(0, 3)).toEqual([
      'user: My dog is called Rex.',
      'agent: Noted: My dog is called Rex.',
      expect.stringContaining('user: /slow'),
    ])
    // Drafts are stored within 200 ms, and a word takes 60.
    expect(words[3]).toMatch(/^agent: one two/)
    expect('agent: one two three four five six seven eight nine ten').toContain(words[3])
    again.forget()
    await again.prompt(sessionId, 'What did I say first?')
    expect(wordsIn(again.shown(sessionId)).join()).toContain('My dog is called Rex.')
  })

  it('exits in order when the editor disconnects in the middle of an answer', async () => {
    using here = home()
    const editor = await startEditor(here, ['-m', 'scripted'])
    const { sessionId } = await editor.begin()
    void editor.prompt(sessionId, '/slow 50 one two three four five six seven').catch(() => null)
    await editor.until(() => wordsIn(editor.shown(sessionId)).join().includes('two'))
    expect(await editor.leave()).toEqual({ code: 0, stderr: '' })
    const { stdout } = await here.skein(['show', sessionId, '--json'])
    expect(stdout).toContain('one two')
    expect(stdout).toContain('interrupted')
  })

  it('exits in order on SIGTERM, although the editor stays', async () => {
    using here = home()
    const editor = await startEditor(here, ['-m', 'scripted'])
    const { sessionId } = await editor.begin()
    void editor.prompt(sessionId, '/slow 50 one two three four five six seven').catch(() => null)
    await editor.until(() => wordsIn(editor.shown(sessionId)).join().includes('two'))
    process.kill(editor.pid, 'SIGTERM')
    expect(await editor.ended()).toEqual({ code: 0, stderr: '' })
    expect((await here.skein(['show', sessionId, '--json'])).stdout).toContain('interrupted')
  })

  it('starts without a key, and answers a prompt with the variable to set', async () => {
    using here = home()
    await using editor = await startEditor(here, ['-m', 'sonnet'])
    const { sessionId, configOptions } = await editor.begin()
    expect(configOptions?.[1]).toMatchObject({ currentValue: 'anthropic/claude-sonnet-5-5' })
    await expect(editor.prompt(sessionId, 'hello')).rejects.toMatchObject({
      message: 'there is no key for anthropic: set ANTHROPIC_API_KEY',
    })
  })

  it('runs the tools of servers that the editor passes, and asks for those that are not read-only', async () => {
    using here = home()
    await using editor = await startEditor(here)
    const given = { name: 'desk', command: process.execPath, args: [server], env: [] }
    const { sessionId } = await editor.begin({ mcpServers: [given] })
    await editor.prompt(sessionId, '/tool desk_echo {"text":"hello there"}')
    expect(editor.asked).toEqual([])
    const [call] = only(editor.shown(sessionId), 'tool_call')
    const result = only(editor.shown(sessionId), 'tool_call_update').at(-1)
    expect(result).toMatchObject({
      toolCallId: call?.toolCallId,
      status: 'completed',
      rawOutput: 'hello there',
    })
    editor.permit('reject_once')
    editor.forget()
    await editor.prompt(sessionId, '/tool desk_picture {}')
    expect(editor.asked).toMatchObject([{ toolCall: { title: 'desk_picture' } }])
    expect(only(editor.shown(sessionId), 'tool_call_update').at(-1)?.status).toBe('failed')
  })

  it('writes its notes to stderr, refuses a command that it cannot be a proxy for, and lists models', async () => {
    using here = home()
    const { code, stderr, stdout } = await here.skein(['acp', 'agent'])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('there is no agent agent. All: skein agents')
    const nothing = await here.skein(['acp', '--'])
    expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining('needs a command behind --') })
    const editor = await startEditor(here, ['-m', 'scripted'])
    const { configOptions } = await editor.begin()
    expect(configOptions?.[1]).toMatchObject({ id: 'model', currentValue: 'scripted' })
    expect((await editor.leave()).stderr).toBe('')
  })

  it('answers -32000 to a prompt if the key of the model is missing, and names the variable', async () => {
    using here = home()
    await using editor = await startEditor(here, ['-m', 'sonnet'])
    const { sessionId } = await editor.begin()
    await expect(editor.prompt(sessionId, 'hello')).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('ANTHROPIC_API_KEY'),
    })
    expect((await here.skein(['ls', '--json=id'])).stdout).toBe('[]\n')
  })

  it('takes the title from the prompt, and not from a history that another host tells it', async () => {
    using here = home()
    await here.skein(['-n', '-m', 'scripted', 'My dog is called Rex.'])
    const [file, args] = commandLine(['acp', '--db', join(here.cwd, 'other.db')])
    const told = await here.skein(['agent', '-c', '--name', 'other', '--', file, ...args], {
      input: 'Where does Rex live?\n',
    })
    expect(told.stderr).toContain('memory: told 2 messages as text')
    const listed = await here.skein(['ls', '--db', join(here.cwd, 'other.db'), '--json=title'])
    expect(JSON.parse(listed.stdout)).toEqual([{ title: 'Where does Rex live?' }])
  })
})
