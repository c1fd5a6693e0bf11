import { describe, expect, it } from 'vitest'
import { repair } from '../../../src/context/view/view.ts'
import { asBlock } from '../../../src/core/block.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import {
  assistant,
  call,
  lines,
  pathOf,
  result,
  results,
  type Said,
  system,
  text,
  thought,
  user,
} from '../path.ts'

const view = (...said: readonly Said[]) => lines(repair(pathOf(...said)))
const erased = (said: Said): Said => ({ ...said, erased: true })
const marked = (said: Said, metadata: JsonObject): Said => ({ ...said, metadata })

describe('repair of calls and results', () => {
  it('joins the results of parallel calls, in the order of the calls (rule 3)', () => {
    expect(
      view(
        user('both'),
        assistant([call('a'), call('b'), call('c')]),
        results(result('c')),
        results(result('a'), result('b')),
        assistant('done'),
      ),
    ).toEqual([
      'user: both',
      'assistant: call a + call b + call c',
      'tool_result: a = "result of a" + b = "result of b" + c = "result of c"',
      'assistant: done',
    ])
  })

  it('moves results to their calls across a message of the user', () => {
    expect(
      view(user('go'), assistant([call('a')]), user('wait'), results(result('a')), assistant('ok')),
    ).toEqual([
      'user: go',
      'assistant: call a',
      'tool_result: a = "result of a"',
      'user: wait',
      'assistant: ok',
    ])
  })

  it('moves a result that was stored before its call', () => {
    expect(view(user('go'), results(result('a')), assistant([call('a')]))).toEqual([
      'user: go',
      'assistant: call a',
      'tool_result: a = "result of a"',
    ])
  })

  it('moves results out of a message of the user, and out of the answer itself', () => {
    expect(view(user('go'), assistant([call('a')]), user([result('a'), text('and?')]))).toEqual([
      'user: go',
      'assistant: call a',
      'tool_result: a = "result of a"',
      'user: and?',
    ])
    expect(
      view(user('go'), assistant([call('a'), result('a'), text('found'), call('b'), result('b')])),
    ).toEqual([
      'user: go',
      'assistant: call a',
      'tool_result: a = "result of a"',
      'assistant: found + call b',
      'tool_result: b = "result of b"',
    ])
  })

  it.each([
    ['interrupted', { interrupted: true }, '[no result: interrupted, outcome unknown]'],
    ['failed', { failed: true }, '[no result: the turn failed, outcome unknown]'],
    ['imported', { imported: { from: 'elsewhere' } }, '[no result: imported without it]'],
  ] as const)('labels missing results: %s (R27)', (reason, meta, label) => {
    const path = pathOf(user('go'), marked(assistant([call('a'), call('b')]), meta), results(result('b')))
    expect(repair(path)[2]!.content).toEqual([
      {
        type: 'tool_result',
        callId: 'a',
        name: 'read',
        output: label,
        isError: true,
        metadata: { skein: { synthetic: reason } },
      },
      result('b'),
    ])
  })

  it('labels unexplained missing results as interrupted, unless the turn failed (R27)', () => {
    expect(view(user('go'), assistant([call('a')])).at(-1)).toContain('interrupted, outcome unknown')
    expect(
      view(
        user('go'),
        assistant([call('a')]),
        marked(assistant('I was sa'), { failed: true }),
        user('continue'),
      )[2],
    ).toContain('the turn failed')
    expect(view(user('go'), assistant([call('a')]), erased(results(result('a'))))).toEqual([
      'user: go',
      'assistant: call a',
      'tool_result: a = "[no result: erased]"',
    ])
  })

  it('turns a result without a call, and a second result of one call, into text', () => {
    expect(view(user('go'), results(result('x', { n: 1 })), assistant('ok'))).toEqual([
      'user: go',
      'tool_result: [result of read, whose call is not in the conversation]\n{"n":1}',
      'assistant: ok',
    ])
    const twice = view(user('go'), assistant([call('a')]), results(result('a', 1), result('a', 2)))
    expect(twice.slice(2)).toEqual([
      'tool_result: a = 1',
      'tool_result: [result of read, whose call is not in the conversation]\n2',
    ])
  })

  it('pairs a result with the newest earlier call if ids recur', () => {
    expect(
      view(
        user('one'),
        assistant([call('0'), call('0')]),
        results(result('0', 'first'), result('0', 'second')),
        user('two'),
        assistant([call('0')]),
        user('three'),
        assistant([call('0')]),
        results(result('0', 'third')),
      ),
    ).toEqual([
      'user: one',
      'assistant: call 0 + call 0-2',
      'tool_result: 0 = "first" + 0-2 = "second"',
      'user: two',
      'assistant: call 0-3',
      'tool_result: 0-3 = "[no result: interrupted, outcome unknown]"',
      'user: three',
      'assistant: call 0-4',
      'tool_result: 0-4 = "third"',
    ])
  })

  it('puts an image of the user after the results', () => {
    const image = { type: 'image', mime: 'image/png', data: 'AAAA' } as const
    const path = pathOf(
      user('go'),
      assistant([call('a'), call('b')]),
      results(result('a'), image),
      results(result('b')),
    )
    expect(lines(repair(path)).slice(2)).toEqual([
      'tool_result: a = "result of a" + b = "result of b"',
      'tool_result: [given with the result of a tool] + image',
    ])
  })
})

describe('repair of thinking', () => {
  it('keeps signed thinking unchanged before its call, in every exchange', () => {
    const signed = thought('hm', 'sig')
    const redacted = {
      type: 'thinking',
      text: '',
      metadata: { anthropic: { redactedData: 'x' } },
    } as const
    const path = pathOf(
      user('one'),
      assistant([redacted, signed, call('a')]),
      results(result('a')),
      assistant([signed, text('done')]),
      user('two'),
    )
    const [, first, , second] = repair(path)
    expect(first!.content).toBe(path[1]!.content)
    expect(second!.content).toBe(path[3]!.content)
  })

  it('keeps unsigned thinking only next to the calls of the exchange in progress', () => {
    const step = (id: string) => [assistant([thought('hm'), call(id)]), results(result(id))]
    expect(
      view(user('one'), ...step('a'), user('two'), ...step('b'), assistant([thought('so'), text('done')])),
    ).toEqual([
      'user: one',
      'assistant: call a',
      'tool_result: a = "result of a"',
      'user: two',
      'assistant: thinking + call b',
      'tool_result: b = "result of b"',
      'assistant: done',
    ])
  })

  it('drops trailing thinking of an answer that was cut off', () => {
    const cut = marked(assistant([thought('hm', 'sig')]), { interrupted: true })
    expect(view(user('one'), cut, user('two'))).toEqual(['user: one', 'user: two'])
    expect(view(user('one'), assistant([text('so'), thought('hm', 'sig')]))).toEqual([
      'user: one',
      'assistant: so',
    ])
  })
})

describe('repair of other messages', () => {
  it('keeps system messages in their position, and moves those before the first question to the beginning', () => {
    expect(
      view(
        assistant('Ciao!'),
        system('You are in Rome.'),
        user('hi'),
        assistant('ciao'),
        system('It is noon.'),
        user('lunch?'),
      ),
    ).toEqual([
      'system: You are in Rome.',
      'assistant: Ciao!',
      'user: hi',
      'assistant: ciao',
      'system: It is noon.',
      'user: lunch?',
    ])
  })

  it('keeps a call with its result across a system message', () => {
    expect(view(user('go'), assistant([call('a')]), system('Quick!'), results(result('a'))).slice(1)).toEqual(
      ['assistant: call a', 'tool_result: a = "result of a"', 'system: Quick!'],
    )
  })

  it('shows erased messages as such, in their position', () => {
    expect(view(erased(user('secret')), erased(assistant('secret')), user('so'))).toEqual([
      'user: [erased]',
      'assistant: [erased]',
      'user: so',
    ])
  })

  it('keeps provider blocks in answers, and drops other unknown blocks', () => {
    const search = asBlock({ type: 'provider_call', callId: 's', name: 'web_search', input: {} })
    const signed = {
      type: 'text',
      text: '',
      metadata: { provider: { google: { thoughtSignature: 'x' } } },
    } as const
    const answer = [search, asBlock({ type: 'hologram', depth: 3 }), signed, text(' ')] as const
    expect(
      repair(pathOf(user([text('go'), search]), assistant(answer))).map(({ content: blocks }) => blocks),
    ).toEqual([[text('go')], [search, signed]])
  })

  it('replaces partial media by their name', () => {
    const [message] = pathOf(user([{ type: 'image', mime: 'image/png', data: 'AAAA' }]))
    const blobs = [{ hash: 'h', bytes: 99_999, pointer: '/blocks/0/data', whole: false }]
    expect(lines(repair([{ ...message!, blobs }]))).toEqual(['user: [image: image/png]'])
  })

  it('makes text well-formed, because providers refuse unpaired surrogates (R13)', () => {
    const path = pathOf(
      user('a \ud800 b'),
      assistant([call('a', { '\udfff': ['\ud800'] })]),
      results(result('a', { deep: '\ud800' })),
    )
    expect(JSON.stringify(repair(path))).not.toMatch(/\\ud[89a-f]/)
  })

  it('does not change the stored messages', () => {
    const path = pathOf(user('go'), assistant([call('a'), call('a')]), results(result('x')), user(''))
    const before = structuredClone(path)
    repair(path)
    expect(path).toEqual(before)
  })
})
