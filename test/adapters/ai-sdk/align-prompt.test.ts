import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { alignPrompt, fingerprintPrompt, splitAtQuestion } from '../../../src/adapters/ai-sdk/align-prompt.ts'
import { fingerprintOf } from '../../../src/adapters/ai-sdk/fingerprint.ts'
import { asBlock, type Block } from '../../../src/core/block.ts'
import { type NewMessage, textOf } from '../../../src/core/message.ts'

const user = (text: string): NewMessage => ({ role: 'user', content: text })
const said = (...blocks: (string | Block)[]): NewMessage => ({
  role: 'assistant',
  content: blocks.map(block => (typeof block === 'string' ? { type: 'text', text: block } : block)),
})
const call = (callId: string, input: Record<string, number | string> = {}): Block => ({
  type: 'tool_call',
  callId,
  name: 'look',
  input,
})
const result = (callId: string, output = 'seen'): Block => ({ type: 'tool_result', callId, output })
const results = (...blocks: Block[]): NewMessage => ({ role: 'tool_result', content: blocks })
const lay = (prompt: readonly NewMessage[], path: readonly NewMessage[], rooted = true) =>
  alignPrompt(fingerprintPrompt(prompt), path.map(fingerprintOf), rooted)

describe('alignPrompt', () => {
  const path = [user('a'), said('b'), user('c'), said('d')]

  it('aligns at the end of the path if the prompt continues it', () => {
    expect(lay([...path, user('e')], path)).toEqual({ fit: 'end', kept: 4, shared: 4, fresh: [user('e')] })
    expect(lay(path, path)).toMatchObject({ fit: 'end', kept: 4, fresh: [] })
    expect(lay([user('e')], [])).toMatchObject({ fit: 'end', kept: 0, fresh: [user('e')] })
  })

  it('keeps the messages before the first difference', () => {
    const edited = [user('a'), said('b'), user('x'), said('d')]
    expect(lay(edited, path)).toMatchObject({ fit: 'inside', kept: 2, fresh: [user('x'), said('d')] })
  })

  it('aligns inside the path if the prompt stops earlier', () => {
    expect(lay(path.slice(0, 3), path)).toMatchObject({ fit: 'inside', kept: 3, fresh: [] })
  })

  it('aligns a prompt that begins later than the path', () => {
    expect(lay([user('c'), said('d'), user('e')], path)).toMatchObject({ fit: 'end', kept: 4, shared: 2 })
    expect(lay([user('c'), said('d'), user('e')], path.slice(2), false)).toMatchObject({
      fit: 'end',
      kept: 2,
    })
    expect(lay([user('c'), said('x')], path)).toMatchObject({ fit: 'inside', kept: 3, fresh: [said('x')] })
  })

  it('finds nothing in common if the first message is not stored', () => {
    expect(lay([user('x'), said('b'), user('c')], path)).toMatchObject({ fit: 'nowhere', kept: 0 })
    expect(lay([user('x')], path.slice(2), false)).toMatchObject({ fit: 'nowhere', fresh: [user('x')] })
  })

  it('compares by position, so that equal texts are two messages', () => {
    const twice = [user('ok'), said('ok')]
    expect(lay([...twice, user('ok')], twice)).toMatchObject({ fit: 'end', fresh: [user('ok')] })
    const longer = [...twice, ...twice]
    expect(lay([...twice, user('ok')], longer)).toMatchObject({ fit: 'end', kept: 4, fresh: [user('ok')] })
  })

  it('takes a new part with an answer for an edit, not for a shortened prompt', () => {
    const repeated = [user('ok'), said('b'), user('ok')]
    const edited = [user('ok'), said('x'), user('y')]
    expect(lay(edited, repeated)).toMatchObject({ fit: 'inside', kept: 1, fresh: [said('x'), user('y')] })
  })
})

describe('fingerprints', () => {
  const same = (prompt: NewMessage, stored: NewMessage) =>
    expect(lay([prompt, user('next')], [stored])).toMatchObject({
      fit: 'end',
      shared: 1,
      fresh: [user('next')],
    })
  const differs = (prompt: NewMessage, stored: NewMessage) =>
    expect(lay([prompt, user('next')], [stored])).toMatchObject({ fit: 'nowhere' })

  it('ignore whether a generated file is a URL or inline data', () => {
    const file = { type: 'image', mime: 'image/png' } as const
    const [address, bytes] = [
      { ...file, url: 'https://example.org/a.png' },
      { ...file, data: 'AQI=' },
    ]
    same(said('see', bytes), said('see', address))
    differs(said('see'), said('see', address))
    differs({ role: 'user', content: [bytes] }, { role: 'user', content: [address] })
  })

  it('ignore whether a text is a string or several blocks, and provider options', () => {
    same(user('hi'), { role: 'user', content: [{ type: 'text', text: 'hi' }] })
    same(said('hi'), said('h', 'i'))
    same(said({ type: 'text', text: 'hi', metadata: { provider: { openai: { itemId: '1' } } } }), said('hi'))
    differs(user('hi'), user('ho'))
    differs(user('hi'), said('hi'))
  })

  it('ignore missing reasoning, but not changed reasoning', () => {
    const thinking = (text: string): Block => ({ type: 'thinking', text })
    same(said('hi'), said(thinking('hm'), 'hi'))
    same(said(thinking('hm'), 'hi'), said(thinking('hm'), 'hi'))
    differs(said(thinking('no'), 'hi'), said(thinking('hm'), 'hi'))
  })

  it('ignore sources and approvals, which callers do not send back', () => {
    same(said('hi'), said('hi', asBlock({ type: 'source', url: 'https://example.org' })))
    same(
      said(call('1')),
      said(call('1'), asBlock({ type: 'provider_tool-approval-request', approvalId: 'a', callId: '1' })),
    )
  })

  it('ignore the order of keys, and the changes of a schema to an input', () => {
    same(said(call('1', { a: 1, b: 2 })), said(call('1', { b: 2, a: 1 })))
    same(said(call('1', { a: 1, limit: 10 })), said(call('1', { a: '1', unknown: 'x' })))
    differs(said(call('1', { a: 2 })), said(call('1', { a: 1 })))
    differs(said(call('2')), said(call('1')))
  })

  it('ignore an empty answer', () => {
    const path = [user('a'), said(), said(asBlock({ type: 'source', url: 'https://example.org' }))]
    expect(lay([user('a'), user('b')], path)).toMatchObject({ fit: 'end', kept: 3, fresh: [user('b')] })
    expect(lay([user('a'), said(), user('b')], [user('a')])).toMatchObject({ fresh: [user('b')] })
  })

  it('ignore whether an image is bytes or base64, but not another image', () => {
    const image = (data: string): NewMessage => ({
      role: 'user',
      content: [{ type: 'image', mime: 'image/png', data }],
    })
    same(image('AAAA'), image('AAAA'))
    differs(image('AAAA'), image('AAAB'))
  })

  it('ignore a leading system message of the path', () => {
    const path: NewMessage[] = [{ role: 'system', content: 'be kind' }, user('a')]
    expect(lay([user('a'), user('b')], path)).toMatchObject({ fit: 'end', kept: 2, fresh: [user('b')] })
  })

  it('match erased messages, unless a new message would be taken for one', () => {
    const erased = (role: 'user' | 'assistant') => fingerprintOf({ role, content: [], erased: {} })
    const path = [erased('user'), fingerprintOf(said('b')), fingerprintOf(user('c')), erased('assistant')]
    const prompt = [user('a'), said('b'), user('c'), said('d'), user('e')]
    expect(alignPrompt(fingerprintPrompt(prompt), path, true)).toMatchObject({
      fit: 'end',
      kept: 4,
      fresh: [user('e')],
    })
    expect(alignPrompt(fingerprintPrompt([user('new')]), [erased('user')], true)).toMatchObject({
      fit: 'nowhere',
      fresh: [user('new')],
    })
  })
})

describe('tool results in a prompt', () => {
  const asked = [user('a'), said(call('1'), call('2'), call('3'))]

  it('match stored results, joined or separate, in any order', () => {
    const stored = [...asked, results(result('3')), results(result('1')), results(result('2'))]
    const sent = [...asked, results(result('1'), result('2'), result('3'))]
    expect(lay(sent, stored)).toMatchObject({ fit: 'end', kept: 5, fresh: [] })
    expect(lay(stored, sent)).toMatchObject({ fit: 'end', kept: 3, fresh: [] })
  })

  it('are new one by one if they are not stored yet', () => {
    const stored = [...asked, results(result('3'))]
    const sent = [...asked, results(result('1'), result('2'), result('3')), user('b')]
    const fresh = [results(result('1'), result('2')), user('b')]
    expect(lay(sent, stored)).toMatchObject({ fit: 'end', kept: 3, fresh })
  })

  it('differ if one was changed', () => {
    const stored = [...asked, results(result('1')), results(result('2')), results(result('3'))]
    const sent = [...asked, results(result('1'), result('2', 'other'), result('3'))]
    const fresh = [results(result('2', 'other'), result('3'))]
    expect(lay(sent, stored)).toMatchObject({ fit: 'inside', kept: 3, fresh })
  })

  it('match by the id of their call if the policy has shortened them', () => {
    const cut: Block = { ...result('1', 'se'), metadata: { kept: { policy: 'truncate' } } }
    const stored = [user('a'), said(call('1')), results(cut)]
    expect(lay([user('a'), said(call('1')), results(result('1'))], stored)).toMatchObject({ fresh: [] })
  })

  it('include approvals, which are stored once', () => {
    const approval = asBlock({ type: 'provider_tool-approval-response', approvalId: 'x', approved: true })
    const stored = [...asked, results(result('1'))]
    const sent = [...asked, results(approval, result('1'))]
    expect(lay(sent, stored)).toMatchObject({ fresh: [results(approval)] })
    expect(lay(sent, [...stored, results(approval)])).toMatchObject({ fit: 'end', fresh: [] })
  })
})

describe('splitAtQuestion', () => {
  it('splits new messages at the beginning of the newest exchange', () => {
    const fresh = [user('a'), said('b'), user('c'), user('d')]
    expect(splitAtQuestion(fresh)).toEqual({ before: fresh.slice(0, 2), words: fresh.slice(2), asked: true })
    expect(splitAtQuestion([results(result('1'))])).toMatchObject({ before: [], asked: false })
  })
})

describe('any changes of a caller to its messages', () => {
  type Act =
    | { readonly do: 'ask'; readonly word: string }
    | { readonly do: 'edit'; readonly at: number; readonly word: string }
    | { readonly do: 'trim'; readonly at: number }
    | { readonly do: 'again'; readonly at: number }
  // Few different texts, so that the same ones recur.
  const word = fc.constantFrom('ok', 'yes', 'continue')
  const act: fc.Arbitrary<Act> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('ask' as const), word }) },
    fc.record({ do: fc.constant('edit' as const), at: fc.nat(9), word: fc.oneof(word, fc.constant('new')) }),
    fc.record({ do: fc.constant('trim' as const), at: fc.nat(9) }),
    fc.record({ do: fc.constant('again' as const), at: fc.nat(9) }),
  )

  it('keep the stored path equal to the prompt, and store no message twice (S3-70, S3-73)', () => {
    let forks = 0
    fc.assert(
      fc.property(
        fc.array(act, { minLength: 1, maxLength: 25 }),
        fc.array(word, { minLength: 1 }),
        (acts, answers) => {
          let path: readonly NewMessage[] = []
          let own: NewMessage[] = []
          for (const [n, one] of acts.entries()) {
            own = change(own, one)
            if (own.length === 0) continue
            const { kept, shared, fresh, fit } = lay(own, path)
            if (fit !== 'end') forks++
            path = [...(fit === 'nowhere' ? [] : path.slice(0, kept)), ...fresh]
            expect(path.slice(-own.length).map(plain)).toEqual(own.map(plain))
            expect(shared + fresh.length).toBe(own.length)
            // A caller that only adds messages stays on one path.
            if (acts.every(({ do: what }) => what === 'ask')) expect(fit).toBe('end')
            const answer = said(answers[n % answers.length]!)
            path = [...path, answer]
            own = [...own, answer]
          }
        },
      ),
      { seed: 20_260_101, numRuns: 1_000 },
    )
    expect(forks).toBeGreaterThan(500)
  })

  const plain = (message: NewMessage) => `${message.role}: ${textOf(message)}`

  function change(own: NewMessage[], one: Act): NewMessage[] {
    const at = one.do === 'ask' ? 0 : Math.min(one.at, own.length)
    if (one.do === 'ask') return [...own, user(one.word)]
    if (one.do === 'again') return own.slice(0, at)
    if (one.do === 'trim') return [...own.slice(at), user('ok')]
    return own.map((message, i) => (i === at ? { ...message, content: one.word } : message))
  }
})
