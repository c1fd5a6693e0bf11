import { beforeAll, describe, expect, it, vi } from 'vitest'
import type { ConversationId } from '../../../src/core/ids.ts'
import { type Home, home } from '../skein.ts'
import { stocked, type Told, tell } from '../stock.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const twin = (last: string) => `abc123de-0000-4000-8000-00000000000${last}` as ConversationId

let here: Home
let told: Told

beforeAll(async () => {
  here = home()
  told = await stocked(here, async store => {
    const first = { directory: here.cwd, title: 'Reconnect storm', model: 'anthropic/claude-sonnet-4-5' }
    const one = await tell(store, first, 'Use full jitter', 'It is in\nthe client')
    for (const last of ['1', '2']) await tell(store, { id: twin(last), title: `Twin ${last}` }, 'hello')
    return one
  })
  return () => here[Symbol.dispose]()
})

/** Another letter than the one of the id. */
function other(letter: string): string {
  return letter === 'a' ? 'b' : 'a'
}

describe('an unknown id', () => {
  it('is answered with similar ids, in one line with the next step', async () => {
    const id = told.ids[0]!
    const slips = [
      // A wrong letter at the end, near the beginning, in a short id, and far inside a long one.
      id.slice(0, 5) + other(id[5]!),
      id.slice(0, 2) + other(id[2]!) + id.slice(3, 6),
      id.slice(0, 3) + other(id[3]!),
      id.slice(0, 20) + other(id[20]!) + id.slice(21, 24),
    ]
    for (const slip of slips) {
      const { stderr, stdout, code } = await here.skein(['show', slip])
      expect(stderr, slip).toMatch(
        new RegExp(`^skein: .*\\. Did you mean ${id.slice(0, 6)}.*\\? Or try: skein search\\n$`),
      )
      expect([stdout, code]).toEqual(['', 3])
    }
  })

  it('is reported to programs with full ids', async () => {
    const id = told.ids[1]!
    const { stderr, code } = await here.skein(['fork', id.slice(0, 5) + other(id[5]!), '--json'])
    const { error } = JSON.parse(stderr)
    expect(error).toMatchObject({ code: 'not_found', message: expect.stringContaining(id.slice(0, 5)) })
    expect(error.candidates).toContain(id)
    expect(code).toBe(3)
  })

  it('may be a word of a title', async () => {
    const { stderr } = await here.skein(['show', 'reconnect'])
    expect(stderr).toBe(
      `skein: no conversation, branch or message matches reconnect. Did you mean ${told.conversation.id.slice(0, 6)} ("Reconnect storm")? Or try: skein search\n`,
    )
  })

  it('without similar ids is answered with where to look', async () => {
    const { stderr, code } = await here.skein(['show', 'zzzzzzzz'])
    expect(stderr).toBe(
      'skein: no conversation, branch or message matches zzzzzzzz. skein ls lists conversations, skein search finds messages\n',
    )
    expect(code).toBe(3)
    const short = await here.skein(['show', 'zzz'])
    expect(short.stderr).toBe(
      'skein: "zzz" is too short: ids need at least 6 characters. skein ls lists conversations, skein search finds messages\n',
    )
    expect(short.code).toBe(3)
    expect((await here.skein(['rm', 'zzz', '--yes'])).stderr).toBe(
      'skein: "zzz" is too short: ids need at least 6 characters. skein ls lists conversations\n',
    )
  })
})

describe('an ambiguous id', () => {
  it('is answered with a line about each candidate', async () => {
    const { stderr, code } = await here.skein(['show', 'abc123'])
    expect(stderr).toBe(
      [
        'skein: abc123 matches 2 ids. Type more characters:',
        `  ${twin('1')}  conversation  now  Twin 1`,
        `  ${twin('2')}  conversation  now  Twin 2`,
        '',
      ].join('\n'),
    )
    expect(code).toBe(2)
    const { error } = JSON.parse((await here.skein(['show', 'abc123', '--json'])).stderr)
    expect(error).toMatchObject({ code: 'ambiguous_id', candidates: [twin('1'), twin('2')] })
  })
})
