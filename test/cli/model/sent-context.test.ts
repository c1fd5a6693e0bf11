import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { estimateTokens } from '../../../src/core/tokens.ts'
import { terminal } from '../terminal.ts'
import { servedHome } from './with-server.ts'

/** A text of about this many tokens. */
const text = (tokens: number, word = 'word') => `${word} `.repeat(Math.ceil((tokens * 4) / 5))

describe('a context of the command', () => {
  it('uses 0.8 of the window by default: no message is left out at 100,000 tokens (S2-36, S2-49)', async () => {
    await using here = await servedHome()
    for (const n of [0, 1, 2]) {
      writeFileSync(join(here.cwd, `f${n}.txt`), text(47_000))
      const { code, stderr } = await here.skein(['-a', `f${n}.txt`, `read part ${n}`])
      expect(code).toBe(0)
      expect(stderr).not.toContain('left out')
    }
    const { messages } = here.server.requests.at(-1)!
    expect(messages.filter(({ text }) => text.includes('read part'))).toHaveLength(3)
    const { context } = JSON.parse((await here.skein(['--json', 'how much?'])).stdout)
    expect(context).toMatchObject({ window: 1_000_000, limit: 800_000, left_out: 0 })
  }, 60_000)

  it('is what /context, the status line and the receipt say, with attachments and the system prompt', async () => {
    await using here = await servedHome()
    writeFileSync(join(here.cwd, 'notes.txt'), text(300_000))
    using once = terminal(here, ['-a', 'notes.txt', '--system', text(2_000, 'rule'), 'read'], {
      env: here.keys,
    })
    await once.see(/context (\d+)%/)
    await once.ended
    const [, receipt] = /context (\d+)%/.exec(once.screen())!

    using chat = terminal(here, ['chat'], { env: here.keys })
    await chat.see(/(\d+)% of 800k/)
    const [, status] = /(\d+)% of 800k/.exec(chat.screen())!
    chat.type('/context\r')
    await chat.seeNext(/what the next call sees: 302k of 800k \((\d+)%\)/)
    const [, percent] = /302k of 800k \((\d+)%\)/.exec(chat.screen())!
    expect([receipt, status, percent]).toEqual(['38', '38', '38'])
    chat.type('and then?\r')
    await chat.seeNext('ok')
    chat.type('/quit\r')
    await chat.ended
    const sent = here.server.requests
      .at(-1)!
      .messages.map(one => one.text)
      .join('')
    expect(Math.abs(estimateTokens(sent) - 302_000)).toBeLessThan(200)
  }, 60_000)

  it('says in /context what the next request contains, at the limit too', async () => {
    await using here = await servedHome()
    here.configure('conversation:', '  max_tokens: 1000')
    const lines = Array.from({ length: 12 }, (_, n) => `fact ${n}: ${text(80)}`)
    const { stdout } = await here.skein(['chat'], { input: [...lines, '/context', 'last', ''].join('\n') })
    const [, used, limit] = /what the next call sees: (\d+) of (\S+) \(/.exec(stdout)!
    const [, kept] = /kept .* (\d+) messages word for word/.exec(stdout)!
    const [, left] = /left out .* (\d+) messages/.exec(stdout)!
    expect([limit, Number(kept) + Number(left)]).toEqual(['1k', 24])
    const { messages } = here.server.requests.at(-1)!
    const before = messages.filter(({ role }) => role !== 'system').slice(0, -1)
    expect(before).toHaveLength(Number(kept))
    // Each message is rounded up, and answers have the count that the provider reports.
    const sent = messages
      .slice(0, -1)
      .reduce((sum, one) => sum + (one.text === 'ok' ? 5 : estimateTokens(one.text)), 0)
    expect(Number(used)).toBe(sent)
  }, 60_000)

  it.each([
    ['max_tokens: 400', (count: number) => expect(count).toBeLessThan(8)],
    ['max_messages: 3', (count: number) => expect(count).toBe(3)],
    ['keep_recent_messages: 4', (count: number) => expect(count).toBe(23)],
  ])(
    'follows conversation.%s of skein.yaml (S2-48, S2-49)',
    async (setting, check) => {
      await using here = await servedHome()
      here.configure('conversation:', `  ${setting}`)
      const input = Array.from({ length: 12 }, (_, n) => `fact ${n}: ${text(80)}\n`).join('')
      await here.skein(['chat'], { input })
      check(here.server.requests.at(-1)!.messages.filter(({ role }) => role !== 'system').length)
    },
    60_000,
  )

  it('follows token_strategy and keep_recent_messages of skein.yaml: a summary, and the newest messages (S2-50)', async () => {
    await using here = await servedHome()
    here.configure(
      'conversation:',
      '  token_strategy: summarization',
      '  max_tokens: 800',
      '  keep_recent_messages: 4',
    )
    const input = Array.from({ length: 12 }, (_, n) => `fact ${n}: ${text(80)}\n`).join('')
    const { stderr } = await here.skein(['chat'], { input })
    expect(stderr).toContain('summary: ')
    const { messages } = here.server.requests.at(-1)!
    expect(messages[0]).toMatchObject({ role: 'system' })
    expect(messages[0]!.text).toContain('Previous conversation summary')
    expect(messages.length).toBeGreaterThanOrEqual(5)
  }, 60_000)

  it('has the window of an unknown model from skein.yaml, or from -o', async () => {
    await using here = await servedHome()
    const limit = async (...args: readonly string[]) =>
      JSON.parse((await here.skein(['-n', '-m', 'compatible/x', '--json', ...args, 'hi'])).stdout).context
    expect(await limit()).toMatchObject({ window: 32_768, limit: 26_214 })
    expect(await limit('-o', 'window=100000')).toMatchObject({ window: 100_000, limit: 80_000 })
    here.configure('models:', '  compatible/x:', '    window: 200000', '    max_output: 1000')
    expect(await limit()).toMatchObject({ window: 200_000, limit: 159_000 })
    expect(here.server.requests.at(-1)?.body).toMatchObject({ max_tokens: 1_000 })
  }, 60_000)
})

describe('the options of the model', () => {
  it('come from skein.yaml for all models, for one model, and from -o, which wins', async () => {
    await using here = await servedHome()
    here.configure(
      'options: { temperature: 0.9, seed: 7 }',
      'models:',
      '  mine:',
      '    model: compatible/x',
      '    temperature: 0.5',
      '    stop: [END]',
      '    provider_options: { compatible: { top_k: 10 } }',
    )
    const body = () => here.server.requests.at(-1)?.body
    await here.skein(['-n', '-m', 'mine', 'hi'])
    expect(body()).toMatchObject({ model: 'x', temperature: 0.5, seed: 7, stop: ['END'], top_k: 10 })
    await here.skein(['-o', 'temperature=0.2', '-o', 'top_p=0.1', '-o', 'compatible.top_k=3', 'again'])
    expect(body()).toMatchObject({ model: 'x', temperature: 0.2, top_p: 0.1, seed: 7, top_k: 3 })
    await here.skein(['third'])
    expect(body()).toMatchObject({ temperature: 0.5, top_k: 10 })
    expect(body()).not.toHaveProperty('top_p')
    await here.skein(['-n', '-m', 'compatible/y', 'hi'])
    expect(body()).toMatchObject({ model: 'y', temperature: 0.9, seed: 7 })
  }, 60_000)

  it.each([
    ['temprature=1', 'Did you mean temperature?'],
    ['temperature=warm', '"warm" is not a number'],
    ['top_p=2', 'is not a number from 0 to 1'],
    ['temperature', 'has no value'],
  ])('are refused with a hint: -o %s', async (option, hint) => {
    await using here = await servedHome()
    const { code, stderr } = await here.skein(['-o', option, 'hi'])
    expect([code, here.server.requests.length]).toEqual([2, 0])
    expect(stderr).toContain(hint)
  })
})
