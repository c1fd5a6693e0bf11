import { describe, expect, it } from 'vitest'
import { missingMessages } from '../../../src/acp/memory/missing-messages.ts'
import type { Heard } from '../../../src/acp/transcript/heard.ts'
import { asText } from '../../../src/context/text/as-text.ts'
import type { Message } from '../../../src/core/message.ts'
import { assistant, called, path, result, type Said, user } from '../transcript/said.ts'

const said = (text: string, messageId: string | null = null): Heard => ({
  type: 'user',
  block: { type: 'text', text },
  messageId,
})
const answered = (text: string): Heard => ({ type: 'answer', block: { type: 'text', text }, messageId: null })
const ran = (callId: string): Heard => ({ type: 'call', call: { callId, status: 'completed' } })

/** The texts of the missing messages. */
function lacking(replay: readonly Heard[], stored: readonly Message[]): readonly string[] {
  return missingMessages(replay, stored).map(({ role, content: blocks }) =>
    blocks.map(block => ('text' in block ? String(block.text) : `${role} ${block.type}`)).join(' '),
  )
}

const three = path(
  user('What is it?'),
  assistant('A parser.'),
  user('Whose?'),
  assistant('Yours.'),
  user('Fix it'),
  assistant('Done.'),
)

it('returns the result of the worked example in missing-messages.ts', () => {
  const replay = [said('What is it?'), answered('A par'), answered('ser. '), said('Whose?')]
  expect(lacking(replay, three)).toEqual(['Yours.', 'Fix it', 'Done.'])
})

describe('the missing messages', () => {
  it('do not include a notice before a call that is in the replay', () => {
    const stored = path(
      user('Go'),
      assistant('Warning: no metadata', called('a')),
      result('a', 'out'),
      assistant('Done.'),
      user('More'),
      assistant('Half an answer'),
    )
    const replay = [said('Go'), ran('a'), answered('Done.'), said('More')]
    expect(lacking(replay, stored)).toEqual(['Half an answer'])
  })

  it("are all of them if the replay is empty, or contains only texts of the agent's own", () => {
    expect(missingMessages([], three)).toEqual(three)
    expect(missingMessages([said('<system>be kind</system>'), answered('Hello')], three)).toEqual(three)
    expect(missingMessages([], [])).toEqual([])
  })

  it('are the lost turn at the end or in the middle, or the lost answer', () => {
    const first = [said('What is it?'), answered('A parser.')]
    const second = [said('Whose?'), answered('Yours.')]
    const third = [said('Fix it'), answered('Done.')]
    expect(lacking([...first, ...second, ...third], three)).toEqual([])
    expect(lacking([...first, ...second], three)).toEqual(['Fix it', 'Done.'])
    expect(lacking([...first, ...third], three)).toEqual(['Whose?', 'Yours.'])
    expect(lacking([...first, ...second, said('Fix it')], three)).toEqual(['Done.'])
    expect(lacking([...first, said('Whose?'), ...third], three)).toEqual(['Yours.'])
    expect(lacking([...first, ...second, said('Fix it'), answered('Do')], three)).toEqual(['Done.'])
  })

  it("do not include messages before the beginning of the agent's memory", () => {
    expect(lacking([said('Whose?'), answered('Yours.'), said('Fix it'), answered('Done.')], three)).toEqual(
      [],
    )
    expect(lacking([said('Whose?'), answered('Yours.')], three)).toEqual(['Fix it', 'Done.'])
  })

  it('do not include an answer whose notice was not replayed', () => {
    const noticed = path(
      user('What is it?'),
      assistant('Warning: no metadata.\n\nA parser.'),
      user('Whose?'),
      assistant('Warning: no metadata.I look into the file.', called('a')),
      result('a', 'x'),
      assistant('Yours.'),
    )
    const first = [said('What is it?'), answered('A parser.')]
    expect(
      lacking([...first, said('Whose?'), answered('I look into the file.'), answered('Yours.')], noticed),
    ).toEqual([])
    expect(lacking([...first, said('Whose?')], noticed).slice(-1)).toEqual(['Yours.'])
    const cut = path(user('What is it?'), assistant('Warning: no metadata. A par'))
    expect(lacking([said('What is it?'), answered('A par')], cut)).toEqual([])
    expect(lacking([said('What is it?'), answered('Warning: no')], cut)).toEqual([
      'Warning: no metadata. A par',
    ])
    const early = path(user('What is it?'), assistant('Warning: no metadata. A parser of '))
    expect(lacking([said('What is it?'), answered('A parser of JSON')], early)).toEqual([])
    const reworded = [
      said('What is it?'),
      answered('Note: metadata is missing. A parser of the JSON that agents send.'),
    ]
    const whole = path(
      user('What is it?'),
      assistant('Warning: no metadata. A parser of the JSON that agents send.'),
    )
    expect(lacking(reworded, whole)).toEqual([])
  })

  it('are found by text, however it is split, joined and spaced', () => {
    const replay = [
      said('What '),
      said('is it?\n'),
      answered('A'),
      answered(' par\nser. '),
      said('Whose?'),
      answered('Yours.'),
      said('Fix\tit'),
      answered('\n\nDone.'),
    ]
    expect(lacking(replay, three)).toEqual([])
  })

  it("are found although the agent replays texts of its own as the user's", () => {
    const replay = [
      said('<environment>linux</environment>'),
      said('What is it?'),
      said('<reminder>be brief</reminder>'),
      answered('A parser.'),
      said('<reminder>be kind</reminder>\nWhose?', 'm'),
      answered('Yours.'),
      said('Fix it'),
      answered('Do'),
      said('<reminder>there are todos</reminder>'),
      answered('ne.'),
    ]
    expect(lacking(replay, three)).toEqual([])
  })

  it('are found if the same text occurs more than once', () => {
    const stored = path(
      user('ok'),
      assistant('one'),
      user('ok'),
      assistant('two'),
      user('ok'),
      assistant('three'),
      user('ok'),
    )
    const ok = said('ok')
    expect(lacking([ok, answered('one'), ok, answered('three')], stored)).toEqual(['ok', 'two', 'ok'])
    expect(lacking([ok, answered('one'), ok, answered('two'), ok, answered('three')], stored)).toEqual(['ok'])
    expect(lacking([ok, answered('one'), ok, answered('two'), ok, answered('three'), ok], stored)).toEqual([])
  })

  it('are found among texts that end alike', () => {
    const stored = path(
      user('go'),
      assistant('a'),
      user('let us go'),
      assistant('b'),
      user('x'),
      assistant('c'),
    )
    expect(lacking([said('go'), answered('a'), said('x'), answered('c')], stored)).toEqual(['let us go', 'b'])
    expect(lacking([said('let us'), said(' go'), answered('b'), said('x'), answered('c')], stored)).toEqual(
      [],
    )
  })

  it('do not include a turn whose question the agent has changed, if its answer is complete', () => {
    const stored = path(
      user('/init'),
      assistant('I have written down how this project is built.'),
      user('Thanks'),
    )
    const replay = [said('Please analyse …'), answered('I have written down how this project is built.')]
    expect(lacking(replay, stored)).toEqual(['Thanks'])
  })

  it('include a turn whose answer only ends like one that the agent has for another question', () => {
    const rest = 'All is well, and there is more to say of it.'
    const stored = path(
      user('first'),
      assistant(`one: ${rest}`),
      user('second'),
      user('third'),
      assistant(`three: ${rest}`),
    )
    const replay = [said('first'), answered(`one: ${rest}`), said('second'), answered(`two: ${rest}`)]
    expect(lacking(replay, stored)).toEqual(['third', `three: ${rest}`])
    expect(lacking([...replay.slice(0, 2), said('changed'), answered(`three: ${rest}`)], stored)).toEqual([
      'second',
    ])
  })

  it('do not include two questions without an answer that are replayed one behind the other', () => {
    const unanswered = [user('one'), user('two'), user('three'), assistant('3')]
    const stored = path(...unanswered)
    const more = path(user('zero'), assistant('0'), ...unanswered)
    expect(lacking([said('one'), said('two'), said('three'), answered('3')], stored)).toEqual([])
    expect(lacking([said('zero'), answered('0'), said('one\n\ntwo three'), answered('3')], more)).toEqual([])
    expect(lacking([said('one'), said('three'), answered('3')], stored)).toEqual(['two'])
  })
})

describe('an answer with tools', () => {
  const stored = path(
    user('Read it'),
    assistant('I look.', called('a')),
    result('a', 'text'),
    assistant(called('b')),
    result('b', 'more'),
    assistant('It is a parser.'),
  )

  it('is known if its text is, whether or not the calls are replayed', () => {
    expect(lacking([said('Read it'), answered('I look.It is a parser.')], stored)).toEqual([])
    const replay = [said('Read it'), answered('I look.'), ran('a'), ran('b'), answered('It is a parser.')]
    expect(missingMessages(replay, stored)).toEqual([])
  })

  it('is missing only from where the agent lost it', () => {
    expect(missingMessages([said('Read it'), answered('I look.'), ran('a')], stored)).toEqual(stored.slice(3))
    expect(missingMessages([said('Read it'), answered('I look.'), ran('a'), ran('b')], stored)).toEqual(
      stored.slice(5),
    )
    expect(missingMessages([said('Read it')], stored)).toEqual(stored.slice(1))
  })

  it('is missing if it has no text, and nothing of it is replayed', () => {
    const cut = path(user('Read it'), assistant(called('a')), result('a', 'text'))
    expect(missingMessages([said('Read it')], cut)).toEqual(cut.slice(1))
    expect(missingMessages([said('Read it'), ran('a')], cut)).toEqual([])
    expect(missingMessages([said('Read it'), answered('Hm')], cut)).toEqual([])
  })
})

describe('a history that was injected earlier', () => {
  const prompt = (told: readonly Message[], words: string) => `${asText(told)}\n\n${words}`
  const all = path(
    ...[
      user('a'),
      assistant('1'),
      user('b'),
      assistant('2'),
      user('c'),
      assistant('3'),
      user('d'),
      assistant('4'),
    ],
  )

  it("is known, behind the agent's own memory, before it, or alone", () => {
    expect(missingMessages([said(prompt(all.slice(0, 6), 'd')), answered('4')], all)).toEqual([])
    expect(missingMessages([said(asText(all.slice(0, 6))), said('\n\nd'), answered('4')], all)).toEqual([])
    const knew = [said('a'), answered('1')]
    expect(missingMessages([...knew, said(prompt(all.slice(2, 6), 'd')), answered('4')], all)).toEqual([])
    expect(missingMessages([...knew, said(prompt(all.slice(4, 6), 'd')), answered('4')], all)).toEqual(
      all.slice(2, 4),
    )
  })

  it('is known if it was only the end of an answer', () => {
    const replay = [said('a'), answered('1'), said('b'), said(prompt(all.slice(3, 4), 'c')), answered('3')]
    expect(missingMessages(replay, all)).toEqual(all.slice(6))
  })

  it('is known if its lines were cut, named or guarded', () => {
    const long = 'word '.repeat(1_000)
    const stored = path(
      user('User: me\nAssistant: you\n</conversation_history>', {
        type: 'image',
        mime: 'image/png',
        data: 'AA',
        name: 'a b.png',
      }),
      assistant(long, called('x')),
      result('x', 'text'),
      user({ type: 'image', mime: 'image/png', data: 'AA' }),
      assistant(called('y')),
      user('now'),
      assistant('then'),
    )
    const replay = [said(prompt(stored.slice(0, 5), 'now')), answered('then')]
    expect(missingMessages(replay, stored)).toEqual([])
    expect(missingMessages([said(prompt(stored.slice(0, 3), 'now')), answered('then')], stored)).toEqual(
      stored.slice(3, 5),
    )
  })

  it('is found if the same text occurs more than once', () => {
    const said2: readonly Said[] = [1, 2, 3, 4].flatMap(n => [user('continue'), assistant(`part ${n}`)])
    const stored = path(...said2)
    const replay = [said(prompt(stored.slice(4, 6), 'continue')), answered('part 4')]
    expect(missingMessages(replay, stored)).toEqual([])
    expect(
      missingMessages([said(prompt(stored.slice(0, 4), 'continue')), answered('part 4')], stored),
    ).toEqual(stored.slice(4, 6))
  })
})

describe('a message without all of its text', () => {
  it('is found by its beginning if only a preview was read', () => {
    const cut = (pointer: string) => ({ blobs: [{ hash: 'h', bytes: 99_999, pointer, whole: false }] })
    const stored = path(
      { ...user('a long beg'), ...cut('/blocks/0/text') },
      { ...assistant('a long ans'), ...cut('/blocks/0/text') },
      user('next'),
      assistant('yes'),
    )
    const known = [said('a long beginning'), said(' of it'), answered('a long answer')]
    expect(missingMessages([...known, said('next'), answered('yes')], stored)).toEqual([])
    expect(missingMessages(known, stored)).toEqual(stored.slice(2))
  })

  it('is found by its answer if it was erased or is an image, and is not injected', () => {
    const erased = { content: [], erased: { erasedAt: new Date(0), by: 'me', reason: 'private' } }
    const stored = path(
      user('one'),
      assistant('1'),
      { ...user(), ...erased },
      assistant('2'),
      user({ type: 'image', mime: 'image/png', data: 'AA' }),
      assistant('3'),
      user('four'),
      { ...assistant(), ...erased },
    )
    const known = [said('one'), answered('1'), said('secret'), answered('2')]
    expect(missingMessages([...known, said('[image]'), answered('3'), said('four')], stored)).toEqual([])
    expect(missingMessages([...known, said('four')], stored)).toEqual(stored.slice(4, 6))
    expect(missingMessages([said('one'), answered('1')], stored)).toEqual([stored[3], ...stored.slice(4, 7)])
  })
})
