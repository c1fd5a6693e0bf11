import { describe, expect, it } from 'vitest'
import { createFold, type FoldEffect } from '../../../src/acp/transcript/fold.ts'
import { hear } from '../../../src/acp/transcript/hear.ts'
import type { CallChange, Heard } from '../../../src/acp/transcript/heard.ts'
import type { Block } from '../../../src/core/block.ts'

const say = (text: string, messageId: string | null = null): Heard => ({
  type: 'answer',
  block: { type: 'text', text },
  messageId,
})
const think = (text: string): Heard => ({ type: 'thought', text, messageId: null })
const news = (callId: string, status?: CallChange['status'], more: Partial<CallChange> = {}): Heard => ({
  type: 'call',
  call: { callId, ...(status ? { status } : {}), ...more },
})
const read = (callId: string, status: CallChange['status'] = 'pending'): Heard =>
  news(callId, status, { name: 'read', input: { of: callId } })

/** The effects, one line each. */
function told(effects: readonly FoldEffect[]): readonly string[] {
  return effects.map(effect => {
    switch (effect.type) {
      case 'draft':
        return `draft ${effect.piece.type}: ${effect.piece.text}`
      case 'message':
        return `${effect.message.role}: ${(effect.message.content as readonly Block[]).map(inShort).join(' | ')}`
      case 'started':
        return `started ${effect.callId}`
      case 'ended':
        return `ended ${effect.callId}${effect.isError ? ' badly' : ''}: ${JSON.stringify(effect.output)}`
      default:
        return `trace ${effect.event.type}`
    }
  })
}

function inShort(block: Block): string {
  if (block.type === 'text' || block.type === 'thinking')
    return `${block.type} ${'text' in block ? block.text : ''}`
  if (block.type === 'tool_call') return `call ${String(block.callId)}`
  return block.type === 'tool_result' ? `result ${String(block.callId)}` : block.type
}

/** Each line has the effects of one update. */
function folded(...heard: readonly (Heard | 'settle' | 'end')[]): readonly (readonly string[])[] {
  const fold = createFold()
  return heard.map(one =>
    told(one === 'settle' ? fold.settle() : one === 'end' ? fold.end() : fold.hear(one)),
  )
}

describe('an answer', () => {
  it('is a draft while it arrives and one message at the end, with thoughts in their order', () => {
    expect(folded(think('Hm'), think(', well.'), say('For'), say('ty-two.'), 'end')).toEqual([
      ['draft thinking: Hm'],
      ['draft thinking: , well.'],
      ['draft text: For'],
      ['draft text: ty-two.'],
      ['assistant: thinking Hm, well. | text Forty-two.'],
    ])
  })

  it('has a block for each message of the agent, and media in their order', () => {
    const picture: Heard = {
      type: 'answer',
      block: { type: 'image', mime: 'image/png', data: 'AA' },
      messageId: 'b',
    }
    const end = folded(
      say('one', 'a'),
      say(' more', 'a'),
      say('two', 'b'),
      picture,
      say('three', 'b'),
      'end',
    ).at(-1)
    expect(end).toEqual(['assistant: text one more | text two | image | text three'])
    expect(folded(say('one', 'a'), say(' and'), say(' more', 'a'), 'end').at(-1)).toEqual([
      'assistant: text one and more',
    ])
  })

  it('is one text although the agent adds metadata to each chunk', () => {
    const piece = (text: string, n: number) =>
      hear({
        sessionUpdate: 'agent_message_chunk',
        content: { type: 'text', text, _meta: { n } },
      })
    expect(folded(piece('a', 1), piece('b', 2), 'end').at(-1)).toEqual(['assistant: text ab'])
  })

  it('is not written if it is empty', () => {
    expect(folded(say(''), think(''), 'end')).toEqual([[], [], []])
  })
})

describe('a call', () => {
  it('waits in its message until it runs, and is then written with the text before it', () => {
    expect(
      folded(say('Look:'), read('a'), read('b'), news('a', 'in_progress'), news('a', 'completed')),
    ).toEqual([
      ['draft text: Look:'],
      [],
      [],
      ['assistant: text Look: | call a | call b', 'started a', 'started b'],
      ['tool_result: result a', 'ended a: ""'],
    ])
  })

  it.each([
    ['it ends', news('a', 'failed'), ['tool_result: result a', 'ended a badly: ""']],
    ['words follow it', say('so'), ['draft text: so']],
    ['a thought follows it', think('so'), ['draft thinking: so']],
    ['it settles', 'settle', []],
    ['the turn ends', 'end', []],
  ] as const)('is written when %s', (_, then, rest) => {
    expect(folded(read('a'), then).at(-1)).toEqual(['assistant: call a', 'started a', ...rest])
  })

  it('is written at once if it runs when it is announced', () => {
    expect(folded(read('a', 'in_progress'))).toEqual([['assistant: call a', 'started a']])
  })

  it('is one call however often it is announced, and needs no announcement', () => {
    expect(
      folded(read('a'), read('a'), news('a', 'completed'), read('a'), news('a', 'failed'), 'end'),
    ).toEqual([
      [],
      [],
      ['assistant: call a', 'started a', 'tool_result: result a', 'ended a: ""'],
      [],
      [],
      [],
    ])
    expect(folded(news('x', 'completed', { output: 1 }))).toEqual([
      ['assistant: call x', 'started x', 'tool_result: result x', 'ended x: 1'],
    ])
  })

  it('is never separated from its result, and later text waits as a draft', () => {
    expect(
      folded(
        read('a', 'in_progress'),
        say('Meanwhile'),
        read('b', 'in_progress'),
        news('b', 'completed', { output: 'B' }),
        say('after b'),
        'settle',
        news('a', 'completed', { output: 'A' }),
        'end',
      ),
    ).toEqual([
      ['assistant: call a', 'started a'],
      ['draft text: Meanwhile'],
      [],
      [],
      ['draft text: after b'],
      [],
      [
        'tool_result: result a',
        'ended a: "A"',
        'assistant: text Meanwhile | call b',
        'started b',
        'tool_result: result b',
        'ended b: "B"',
      ],
      ['assistant: text after b'],
    ])
  })

  it('has no result if the turn ends first, and everything else is written in order', () => {
    expect(
      folded(read('a', 'in_progress'), say('so'), read('b', 'completed'), say('on'), 'end').at(-1),
    ).toEqual([
      'assistant: text so | call b',
      'started b',
      'tool_result: result b',
      'ended b: ""',
      'assistant: text on',
    ])
  })

  it('is settled only if its step can be written', () => {
    const fold = createFold()
    expect(fold.waits).toBe(false)
    fold.hear(say('words'))
    expect(fold.waits).toBe(false)
    fold.hear(read('a'))
    expect(fold.waits).toBe(true)
    fold.settle()
    fold.hear(read('b'))
    expect(fold.waits).toBe(false)
    expect(told(fold.hear(news('a', 'completed')))).toEqual(['tool_result: result a', 'ended a: ""'])
    expect(fold.waits).toBe(true)
    expect(told(fold.settle())).toEqual(['assistant: call b', 'started b'])
  })
})

describe('the stored call', () => {
  const messages = (...heard: readonly Heard[]) => {
    const fold = createFold()
    return [...heard.flatMap(one => fold.hear(one)), ...fold.end()].flatMap(effect =>
      effect.type === 'message' ? [effect.message.content] : [],
    )
  }
  const text = (words: string) => ({ type: 'content', content: { type: 'text', text: words } })
  const diff = { type: 'diff', path: 'a.ts', oldText: 'a', newText: 'b' }

  it('has a name and an input, and fields for people in its metadata', () => {
    const announced = {
      title: 'Read a.ts',
      kind: 'read',
      locations: [{ path: 'a.ts' }],
      input: { path: 'a.ts' },
    }
    expect(messages(news('c', 'pending', announced))).toEqual([
      [
        {
          type: 'tool_call',
          callId: 'c',
          name: 'read',
          input: { path: 'a.ts' },
          metadata: { acp: { title: 'Read a.ts', kind: 'read', locations: [{ path: 'a.ts' }] } },
        },
      ],
    ])
  })

  it('has the output that the agent sends, else the text of its content', () => {
    const [, given] = messages(
      news('c', 'completed', { output: { lines: 3 }, content: [text('three lines')] }),
    )
    expect(given).toEqual([
      {
        type: 'tool_result',
        callId: 'c',
        name: 'other',
        output: { lines: 3 },
        metadata: { acp: { content: [text('three lines')] } },
      },
    ])
    const [, shown] = messages(news('c', 'failed', { content: [text('one'), diff, text('two')] }))
    expect(shown).toEqual([
      {
        type: 'tool_result',
        callId: 'c',
        name: 'other',
        output: 'one\ntwo',
        isError: true,
        metadata: { acp: { content: [text('one'), diff, text('two')] } },
      },
    ])
    const [, plain] = messages(news('c', 'completed', { content: [text('one')] }))
    expect(plain).toEqual([{ type: 'tool_result', callId: 'c', name: 'other', output: 'one' }])
  })

  it('keeps later changes with its result', () => {
    const [call, result] = messages(
      news('c', 'in_progress', { title: 'Shell', kind: 'execute' }),
      news('c', undefined, { title: '`ls`', input: { command: 'ls' }, content: [text('a.ts')] }),
      news('c', 'completed'),
    )
    expect(call).toMatchObject([{ name: 'execute', input: {}, metadata: { acp: { title: 'Shell' } } }])
    expect(result).toEqual([
      {
        type: 'tool_result',
        callId: 'c',
        name: 'execute',
        output: 'a.ts',
        metadata: { acp: { title: '`ls`', input: { command: 'ls' } } },
      },
    ])
  })

  it.each([
    [{ name: 'read_file', kind: 'read', title: 'Read it' }, 'read_file'],
    [{ name: 'mcp: find it!', kind: 'search' }, 'mcp:_find_it'],
    [{ kind: 'execute', title: '`npm test`' }, 'execute'],
    [{ kind: 'other', title: '`npm test`' }, 'npm'],
    [{ title: 'Dateien lesen' }, 'Dateien'],
    [{ title: '…' }, 'other'],
    [{}, 'other'],
  ])('has a name that every provider accepts: %o', (said, name) => {
    expect(messages(news('c', 'pending', said))).toMatchObject([[{ type: 'tool_call', name }]])
  })
})

describe('other updates', () => {
  it('leave a plan in the trace, and nothing else', () => {
    const fold = createFold()
    expect(fold.hear({ type: 'plan', entries: ['a'] })).toEqual([
      { type: 'trace', event: { type: 'plan', data: { entries: ['a'] } } },
    ])
    const rest: readonly Heard[] = [
      { type: 'user', block: { type: 'text', text: 'an echo' }, messageId: null },
      { type: 'usage', used: 1, size: 2, cost: null },
      { type: 'title', title: 'a' },
      { type: 'mode', mode: 'ask' },
      { type: 'other', name: 'notice' },
    ]
    expect(rest.flatMap(one => fold.hear(one))).toEqual([])
    expect(fold.end()).toEqual([])
    expect(fold.hear(say('too late'))).toEqual([])
  })
})

describe('the output of a terminal', () => {
  const shows = (terminalId: string): Partial<CallChange> => ({ content: [{ type: 'terminal', terminalId }] })
  const outputs = (...heard: readonly Heard[]) => {
    const fold = createFold()
    const effects = [...heard.flatMap(one => fold.hear(one)), ...fold.end()]
    return effects.flatMap(effect => (effect.type === 'ended' ? [effect.output] : []))
  }

  it('is the output of the call that shows it, whichever comes first', () => {
    const output: Heard = { type: 'terminal', change: { terminalId: 't', output: 'out' } }
    const end = news('a', 'completed')
    expect(outputs(news('a', 'in_progress', shows('t')), output, end)).toEqual(['out'])
    expect(outputs(output, news('a', 'in_progress', shows('t')), end)).toEqual(['out'])
    expect(outputs(output, news('a', 'in_progress', shows('u')), end)).toEqual([''])
  })

  it('is joined from its chunks, and replaced by a whole output', () => {
    const more = (append: string) => news('a', 'in_progress', { terminals: [{ terminalId: 't', append }] })
    const whole: Heard = { type: 'terminal', change: { terminalId: 't', output: 'whole' } }
    expect(outputs(more('1'), more('2'), news('a', 'completed'))).toEqual(['12'])
    expect(outputs(more('1'), whole, more('2'), news('a', 'completed'))).toEqual(['whole2'])
  })

  it('is kept with its beginning and its end if it is long', () => {
    const change = { terminalId: 't', append: `${'x'.repeat(65_535)}B${'y'.repeat(1_000_000)}END` }
    const [output] = outputs(news('a', 'completed', { terminals: [change] }))
    expect(String(output)).toMatch(/B\n\[… 934467 bytes left out …\]\ny+END$/)
    expect(String(output).length).toBeLessThan(140_000)
  })
})

it('text beyond the limit of a turn is counted, and calls are still recorded', () => {
  const fold = createFold(10)
  const heard = [say('12345678'), say('too long'), read('a', 'completed'), say('9'), say('xyz')]
  const effects = [...heard.flatMap(one => fold.hear(one)), ...fold.end()]
  const messages = effects.filter(({ type }) => type === 'message')
  expect(told(messages)).toEqual([
    'assistant: text 12345678 | call a',
    'tool_result: result a',
    'assistant: text 9\n[… 11 bytes left out …]',
  ])
})

it('traces news of the agent about itself, and joins the chunks of one text', () => {
  const fold = createFold()
  const traced = (effects: readonly FoldEffect[]) =>
    effects.flatMap(effect => (effect.type === 'trace' ? [effect.event] : []))
  const chunk = (text: string) =>
    hear({ sessionUpdate: 'compaction_summary_chunk', content: { type: 'text', text } })
  expect(traced(fold.hear(hear({ sessionUpdate: 'notice', message: 'slow today' })))).toEqual([
    { type: 'agent_update', data: { update: 'notice', message: 'slow today' } },
  ])
  expect([...fold.hear(chunk('All of ')), ...fold.hear(chunk('it.'))]).toEqual([])
  expect(traced(fold.end())).toEqual([
    { type: 'agent_update', data: { update: 'compaction_summary_chunk', text: 'All of it.' } },
  ])
})
