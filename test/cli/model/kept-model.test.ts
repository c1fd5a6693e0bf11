import { describe, expect, it } from 'vitest'
import { terminal } from '../terminal.ts'
import { servedHome } from './with-server.ts'

const noKeys = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }

describe('a conversation of the command', () => {
  it('keeps its model and its system prompt until -m and --system change them', async () => {
    await using here = await servedHome()
    const { server, skein } = here
    const asked = () => {
      const { model, messages } = server.requests.at(-1)!
      return [model, messages.find(({ role }) => role === 'system')?.text]
    }
    const listed = async () => JSON.parse((await skein(['ls', '--json=model'])).stdout)[0].model

    await skein(['-n', '-m', 'opus', '--system', 'Be brief.', 'hello'])
    expect(asked()).toEqual(['claude-opus-5-5', 'Be brief.'])
    await skein(['again'], { env: { SKEIN_MODEL: 'gpt' } })
    expect(asked()).toEqual(['claude-opus-5-5', 'Be brief.'])
    expect(await listed()).toBe('anthropic/claude-opus-5-5')

    const changed = await skein(['-m', 'gpt', 'and you?'])
    expect(changed.code).toBe(0)
    expect(await listed()).toBe('openai/gpt-5.5')
    await skein(['--system', 'Be long.', 'third'])
    expect(asked()).toEqual(['gpt-5.5', 'Be long.'])
    await skein(['fourth'])
    expect(asked()).toEqual(['gpt-5.5', 'Be long.'])

    // An empty one removes it for good.
    await skein(['--system', '', 'fifth'])
    expect(asked()).toEqual(['gpt-5.5', undefined])
    await skein(['sixth'])
    expect(asked()).toEqual(['gpt-5.5', undefined])
    expect(JSON.parse((await skein(['ls', '--json=prompt'])).stdout)).toEqual([{ prompt: null }])

    // A new conversation has neither.
    await skein(['-n', 'other'])
    expect(asked()).toEqual(['claude-sonnet-5-5', undefined])
  }, 60_000)

  it('refuses to answer with another model if its key is missing, and names the variable', async () => {
    await using here = await servedHome()
    await here.skein(['-n', '-m', 'opus', 'hello'])
    for (const env of [noKeys, { ANTHROPIC_API_KEY: '' }]) {
      const { code, stdout, stderr } = await here.skein(['again'], { env })
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toContain('this conversation is with opus-5.5')
      expect(stderr).toContain('set ANTHROPIC_API_KEY')
    }
    expect((await here.skein(['-m', 'scripted', 'again'])).stderr).toContain(
      'the demo model does not answer in it',
    )
    const chat = await here.skein(['chat'], { input: '/model scripted\nagain\n' })
    expect(chat.stderr).toContain('the demo model does not answer in it')
    expect(here.server.requests.at(-1)?.model).toBe('claude-opus-5-5')
    const shown = await here.skein(['show', '--json'])
    expect(shown.stdout).not.toContain('scripted')
    // Any other model may answer, and a new conversation has the demo model.
    expect((await here.skein(['-n', 'hi'], { env: noKeys })).code).toBe(0)
  }, 60_000)

  it('of the demo model goes to a real model once a key is set, unless the demo model was named', async () => {
    await using here = await servedHome()
    await here.skein(['hello'], { env: noKeys })
    expect((await here.skein(['again'])).code).toBe(0)
    expect(here.server.requests.map(({ model }) => model)).toEqual(['claude-sonnet-5-5'])
    expect((await here.skein(['more'], { env: noKeys })).stderr).toContain('set ANTHROPIC_API_KEY')

    await here.skein(['-n', '-m', 'scripted', 'hello'])
    await here.skein(['again'])
    expect(here.server.requests).toHaveLength(1)
  }, 60_000)

  it('has its own model in a chat that goes to it, and /model changes it for good', async () => {
    await using here = await servedHome()
    await here.skein(['-n', '-m', 'opus', '--system', 'Be brief.', 'about bridges'])
    const [{ id }] = JSON.parse((await here.skein(['ls', '--json=id'])).stdout)
    const input = ['a tunnel', `/resume ${id}`, 'how long?', '/model gpt', ''].join('\n')
    await here.skein(['chat', '-n'], { input })
    expect(here.server.requests.map(({ model }) => model)).toEqual([
      'claude-opus-5-5',
      'claude-sonnet-5-5',
      'claude-opus-5-5',
    ])
    expect(here.server.requests[1]?.messages.map(({ role }) => role)).toEqual(['user'])
    expect(here.server.requests[2]?.messages[0]).toMatchObject({ role: 'system', text: 'Be brief.' })
    const models = JSON.parse((await here.skein(['ls', '--json=model'])).stdout)
    expect(models.map(({ model }: { model: string }) => model).toSorted()).toEqual([
      'anthropic/claude-sonnet-5-5',
      'openai/gpt-5.5',
    ])
  }, 60_000)

  it('shows in ls which model answers next', async () => {
    await using here = await servedHome()
    await here.skein(['-n', '-m', 'opus', 'hello'])
    await here.skein(['-m', 'gpt', 'again'])
    using list = terminal(here, ['ls'], { env: here.keys })
    await list.see(/hello .* gpt-5\.5/)
    expect(await list.ended).toBe(0)
  }, 60_000)
})
