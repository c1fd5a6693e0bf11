import { describe, expect, it, vi } from 'vitest'
import { modelHome, models } from '../real-model.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const parts = [{ text: 'The first half' }]

const notes = {
  length: /! the answer was cut at the output limit \(max_tokens\)\. The rest: /,
  filtered: /! a filter of the provider held back a part of the answer\. /,
  refused: /! the model declined to answer\. /,
} as const

type CutFinish = keyof typeof notes

const cases: readonly (readonly [model: string, finishes: readonly CutFinish[]])[] = [
  [models.anthropic, ['length', 'refused']],
  [models.openai, ['length', 'filtered', 'refused']],
  [models.google, ['length', 'filtered']],
  [models.compatible, ['length', 'filtered', 'refused']],
]

describe('an answer that the provider cut', () => {
  it.each(cases)('of %s says so on stderr, in --json and in show', async (model, finishes) => {
    await using here = await modelHome(({ n }) => ({ parts, finish: finishes[n >> 1]! }), model)
    for (const stop of finishes) {
      const { stdout, stderr, code } = await here.skein(['tell me'])
      expect([stdout, code]).toEqual(['The first half\n', 0])
      expect(stderr).toMatch(notes[stop])
      const json = JSON.parse((await here.skein(['--json', 'tell me'])).stdout)
      expect(json).toMatchObject({ status: 'complete', stop, text: 'The first half' })
    }
    const words = { length: 'cut at the output limit', filtered: 'held back', refused: 'declined' }
    const { stdout } = await here.skein(['show'])
    for (const stop of finishes) expect(stdout.split(words[stop])).toHaveLength(3)
    const { path } = JSON.parse((await here.skein(['show', '--json'])).stdout)
    expect(path.map((one: { stop: string | null }) => one.stop)).toEqual(
      finishes.flatMap(stop => [null, stop, null, stop]),
    )
  })

  it('names a command that continues it', async () => {
    await using here = await modelHome([{ parts, finish: 'length' }, ' and the second.'])
    const { stderr } = await here.skein(['tell me'])
    const [, id] = /The rest: skein -c ([a-z2-7]{6,}) "continue"\n/.exec(stderr) ?? []
    expect(id, stderr).toBeDefined()
    expect((await here.skein(['-c', id!, 'continue'])).stdout).toContain('and the second.')
    const asked = here.server.requests.at(-1)!.messages.map(({ role, text }) => [role, text])
    expect(asked).toEqual([
      ['user', 'tell me'],
      ['assistant', 'The first half'],
      ['user', 'continue'],
    ])
  })

  it.each(['length', 'refused'] as const)('says so in a chat, and how to continue (%s)', async finish => {
    await using here = await modelHome([{ parts, finish }, 'The second half.'])
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('tell me\r')
    await chat.seeNext('The first half')
    await chat.seeNext(notes[finish])
    await chat.seeNext(finish === 'length' ? 'say "continue"' : '/edit changes your question')
    await chat.seeNext(/› $/)
    chat.type('continue\r')
    await chat.seeNext('The second half.')
    await chat.seeNext(/› $/)
    expect(chat.screen().split(notes[finish])).toHaveLength(2)
  })

  it('can be continued after a refusal without a word', async () => {
    await using here = await modelHome([{ parts: [], finish: 'refused' }, 'Fine.'])
    const { stdout, stderr, code } = await here.skein(['tell me'])
    expect([stdout, code]).toEqual(['', 0])
    expect(stderr).toMatch(notes.refused)
    const [, id] = /Ask it another way: skein -c ([a-z2-7]{6,}) "…"/.exec(stderr) ?? []
    expect((await here.skein(['-c', id!, 'please'])).stdout).toBe('Fine.\n')
  })

  it('is named if it has no text, and only then', async () => {
    await using here = await modelHome([{ parts: [], finish: 'stop' }, 'Fine.'])
    const empty = await here.skein(['tell me'])
    expect([empty.stdout, empty.code]).toEqual(['', 0])
    const named =
      /! the model ended its turn without an answer\. Ask it another way: skein -c ([a-z2-7]{6,}) "…"/
    const [, id] = named.exec(empty.stderr) ?? []
    const next = await here.skein(['-c', id!, 'please'])
    expect(next.stdout).toBe('Fine.\n')
    expect(next.stderr).not.toMatch(named)
  })
})
