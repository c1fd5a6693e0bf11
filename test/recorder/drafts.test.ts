import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { UnavailableError } from '../../src/core/errors.ts'
import { collectPages } from '../../src/core/pages.ts'
import { createAnswerDraft } from '../../src/recorder/answer-draft.ts'
import { beginTurn, type Trouble } from '../../src/recorder/index.ts'
import { settle } from './clockwork.ts'
import { assistant, place, text, user } from './place.ts'

const away = { before: new UnavailableError('away') }

describe('an arriving answer', () => {
  it('is stored 100 ms after its first piece, with adjacent pieces of one type joined', async () => {
    const { failing, store, branch, id, clock } = await place()
    const turn = await beginTurn(failing.store, branch, { words: [user('q')], key: 't' }, clock)
    for (const word of ['It ', 'was ', 'a ']) turn.draft({ type: 'thinking', text: word })
    for (const word of ['dark ', '', 'and ']) turn.draft(text(word))
    await clock.advance(99)
    expect(await collectPages(page => store.readDraft(id, 't', page))).toEqual([])
    await clock.advance(1)
    const first = [
      { n: 0, type: 'thinking', text: 'It was a ' },
      { n: 1, type: 'text', text: 'dark and ' },
    ]
    expect(await collectPages(page => store.readDraft(id, 't', page))).toEqual(first)
    await clock.advance(10_000)
    expect(failing.calls.filter(method => method === 'putDraft')).toHaveLength(1)
    turn.draft(text('stormy'))
    await clock.advance(100)
    expect(await collectPages(page => store.readDraft(id, 't', page))).toEqual([
      ...first,
      { n: 2, type: 'text', text: 'stormy' },
    ])
    await turn.end('complete')
  })

  it('is replaced by the message of its step, and the next one counts from 0', async () => {
    const { store, branch, id, said, clock } = await place()
    const turn = await beginTurn(store, branch, { words: [user('q')], key: 't' }, clock)
    turn.draft(text('one'))
    await clock.advance(150)
    turn.draft(text(' and'))
    const adding = turn.add([assistant('one and a half')])
    turn.draft(text('two'))
    await adding
    await clock.advance(100)
    expect(await collectPages(page => store.readDraft(id, 't', page))).toEqual([
      { n: 0, type: 'text', text: 'two' },
    ])
    await turn.add([assistant('two')])
    await clock.advance(500)
    expect(await collectPages(page => store.readDraft(id, 't', page))).toEqual([])
    await turn.end('complete')
    expect(await said()).toEqual(['q', 'one and a half', 'two'])
  })

  it('has one write at a time: later pieces go with the next one', async () => {
    const { failing, store, branch, id, clock } = await place()
    const turn = await beginTurn(failing.store, branch, { words: [user('q')], key: 't' }, clock)
    const drafts = () => failing.calls.filter(method => method === 'putDraft').length
    failing.fate = method => (method === 'putDraft' ? 'hangs' : null)
    turn.draft(text('a'))
    await clock.advance(150)
    for (const letter of 'bcdef') {
      turn.draft(text(letter))
      await clock.advance(150)
    }
    expect(drafts()).toBe(1)
    failing.heal()
    await settle()
    await clock.advance(150)
    expect(drafts()).toBe(2)
    expect(await collectPages(page => store.readDraft(id, 't', page))).toEqual([
      { n: 0, type: 'text', text: 'a' },
      { n: 1, type: 'text', text: 'bcdef' },
    ])
    await turn.end('complete')
  })

  it('does not throw into the stream: failed pieces are kept and retried', async () => {
    const { failing, store, branch, id, said, clock } = await place()
    const troubles: Trouble['kind'][] = []
    const onTrouble = ({ kind }: Trouble) => troubles.push(kind)
    const turn = await beginTurn(failing.store, branch, { words: [user('q')], key: 't', onTrouble }, clock)
    failing.fate = method => (method === 'putDraft' ? away : null)
    for (const letter of 'abcdefgh') {
      turn.draft(text(letter))
      await clock.advance(150)
    }
    expect(troubles).toEqual(['degraded'])
    failing.heal()
    await clock.advance(5_000)
    expect(troubles).toEqual(['degraded', 'recovered'])
    expect(
      (await collectPages(page => store.readDraft(id, 't', page))).map(piece => piece.text).join(''),
    ).toBe('abcdefgh')
    turn.draft(text('i'))
    await turn.end('interrupted')
    expect(await said()).toEqual(['q', 'abcdefghi'])
    expect((await collectPages(page => store.listEvents(id, page))).map(event => event.type)).toEqual([
      'degraded',
      'recovered',
    ])
  })

  it('is stored within 200 ms in a stream without pauses, by the real clock', async () => {
    const { store, branch, id } = await place()
    const turn = await beginTurn(store, branch, { words: [user('q')], key: 't' })
    const sent: { readonly at: number; readonly length: number }[] = []
    let length = 0
    const started = performance.now()
    let late = 0
    let stall = 0
    while (performance.now() - started < 1_000) {
      const begun = performance.now()
      turn.draft(text('word '))
      length += 5
      sent.push({ at: performance.now(), length })
      await new Promise(resolve => setTimeout(resolve, 2))
      const stored = (await collectPages(page => store.readDraft(id, 't', page))).reduce(
        (sum, piece) => sum + piece.text.length,
        0,
      )
      const missing = sent.find(piece => piece.length > stored)
      if (missing) late = Math.max(late, performance.now() - missing.at)
      stall = Math.max(stall, performance.now() - begun)
    }
    await turn.end('complete')
    // While other work delays this process, no timer runs.
    expect(late).toBeLessThan(200 + 2 * stall)
    expect(late).toBeGreaterThan(50)
  })
})

describe('createAnswerDraft', () => {
  const pieces = fc.array(
    fc.record({
      type: fc.constantFrom('text' as const, 'thinking' as const),
      text: fc.string({ maxLength: 4 }),
    }),
    { maxLength: 30 },
  )
  const steps = fc.array(fc.constantFrom('store', 'fail', 'add', 'add', 'add'), { maxLength: 60 })

  it('gives each number to the same text, without gaps, for any number of failed writes', () => {
    fc.assert(
      fc.property(pieces, steps, (arriving, happenings) => {
        const draft = createAnswerDraft()
        const seen = new Map<number, string>()
        const queue = [...arriving]
        let said = ''
        for (const what of [...happenings, ...queue.map(() => 'add'), 'store']) {
          const next = what === 'add' ? queue.shift() : undefined
          if (next) {
            draft.add(next)
            said += next.text
          }
          const rest = what === 'add' ? null : draft.unstored()
          for (const piece of rest ?? []) {
            const words = JSON.stringify(piece)
            expect(seen.get(piece.n) ?? words).toBe(words)
            seen.set(piece.n, words)
          }
          if (what === 'store' && rest) draft.stored(rest.at(-1)!)
        }
        expect([...seen.keys()].sort((a, b) => a - b)).toEqual([...seen.keys()].map((_, i) => i))
        const stored = [...seen.entries()].sort(([a], [b]) => a - b)
        expect(stored.map(([, words]) => JSON.parse(words).text).join('')).toBe(said)
        expect([draft.isWaiting, draft.characters]).toEqual([false, 0])
      }),
      { seed: 20261116, numRuns: 300 },
    )
  })
})
