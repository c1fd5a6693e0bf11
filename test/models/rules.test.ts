import { describe, expect, it } from 'vitest'
import { type Item, item } from '../support/models/json.ts'
import { type IdPrefix, signatureOf, thoughtMark } from '../support/models/reply.ts'
import type { Headers, Rules } from '../support/models/rule.ts'
import { anthropicRules } from '../support/models/rules-anthropic.ts'
import { googleRules } from '../support/models/rules-google.ts'
import { chatRules, openaiRules } from '../support/models/rules-openai.ts'

/** The rules that a body breaks. A body that breaks exactly one would be accepted without that rule. */
function broken(rules: Rules, body: object, headers: Headers = {}): readonly string[] {
  return Object.keys(rules).filter(name => rules[name]?.(item(body), headers) !== null)
}

const user = { role: 'user', content: [{ type: 'text', text: 'hi' }] }
const thought = { type: 'thinking', thinking: 'hm', signature: signatureOf('hm') }
const use = (id: string, more: object = {}) => ({ type: 'tool_use', id, name: 'look', input: {}, ...more })
const result = (id: string, content: unknown = 'x') => ({ type: 'tool_result', tool_use_id: id, content })
const says = (...content: object[]) => ({ role: 'assistant', content })
const tells = (...content: object[]) => ({ role: 'user', content })
const claude = (messages: object[], more: object = {}) => ({ model: 'm', max_tokens: 9, messages, ...more })
const marked = (prefix: IdPrefix) => `${prefix}_abc_1_t${thoughtMark('hm')}`
const tool = { name: 'look', input_schema: { type: 'object' } }
const text = (words: string) => ({ type: 'text', text: words })

const anthropicBad: Record<string, object> = {
  'max_tokens is there': { messages: [user] },
  'there is a message': claude([]),
  'roles are user and assistant': claude([user, { role: 'tool', content: 'x' }, user]),
  'the first message is the user’s': claude([says(text('a')), user]),
  'roles alternate': claude([user, user]),
  'the last message is the user’s': claude([user, says(text('a'))]),
  'every message says something': claude([{ role: 'user', content: [] }]),
  'no text is empty': claude([tells(text(' '))]),
  'the system prompt is not empty': claude([user], { system: [text('')] }),
  'tools have names': claude([user], { tools: [{ ...tool, name: 'a b' }] }),
  'tools are named once': claude([user], { tools: [tool, tool] }),
  'tool schemas are of objects': claude([user], { tools: [{ ...tool, input_schema: {} }] }),
  'calls have ids': claude([user, says(use('a:b')), tells(result('a:b'))]),
  'calls have names': claude([user, says(use('a', { name: 'a b' })), tells(result('a'))]),
  'calls have objects as input': claude([user, says(use('a', { input: 'x' })), tells(result('a'))]),
  'ids of calls are unique': claude([
    user,
    says(use('a')),
    tells(result('a')),
    says(use('a')),
    tells(result('a')),
  ]),
  'every call is answered in the next message': claude([user, says(use('a'), use('b')), tells(result('a'))]),
  'every result has a call in the message before': claude([user, says(text('a')), tells(result('a'))]),
  'a call has one result': claude([user, says(use('a')), tells(result('a'), result('a'))]),
  'results stand before words': claude([user, says(use('a')), tells(text('so'), result('a'))]),
  'results have content of known kinds': claude([
    user,
    says(use('a')),
    tells(result('a', [{ type: 'json' }])),
  ]),
  'images are of known kinds': claude([
    tells({ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: '' } }),
  ]),
  'thinking is signed': claude([user, says({ type: 'thinking', thinking: 'hm' }), user]),
  'thinking is unchanged': claude([user, says({ ...thought, thinking: 'hm!' }), user]),
  'thinking comes first where it is enabled': claude([user, says(text('a'), use('a')), tells(result('a'))], {
    thinking: { type: 'enabled' },
  }),
  'thinking stands before its calls': claude([
    user,
    says(use(marked('toolu')), thought),
    tells(result(marked('toolu'))),
  ]),
}

const call = (id: string, more: object = {}) => ({
  type: 'function_call',
  id: 'fc_1',
  call_id: id,
  name: 'look',
  arguments: '{}',
  ...more,
})
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'x' })
const ask = { role: 'user', content: [{ type: 'input_text', text: 'hi' }] }
const reasoning = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text: 'hm' }],
  encrypted_content: signatureOf('hm'),
}
const gpt = (...input: object[]) => ({ input })
const long = 'x'.repeat(65)

const openaiBad: Record<string, object> = {
  'there is an input': gpt(),
  'items are of known kinds': gpt(ask, { type: 'thought' }),
  'no text is empty': gpt({ role: 'user', content: [{ type: 'input_text', text: '' }] }),
  'calls are in JSON': gpt(ask, call('a', { arguments: {} }), output('a')),
  'calls have names': gpt(ask, call('a', { name: 'a b' }), output('a')),
  'ids of calls are short': gpt(ask, call(long), output(long)),
  'ids of calls are unique': gpt(ask, call('a'), call('a'), output('a')),
  'every call has an output': gpt(ask, call('a')),
  'every output has a call before it': gpt(ask, output('a')),
  'a call has one output': gpt(ask, call('a'), output('a'), output('a')),
  'nothing is kept by the provider': gpt(ask, { type: 'item_reference', id: 'msg_1' }),
  'reasoning is encrypted': gpt(ask, { ...reasoning, encrypted_content: null }, call('a'), output('a')),
  'reasoning is unchanged': gpt(ask, { ...reasoning, encrypted_content: 'other' }, call('a'), output('a')),
  'reasoning is followed by what it led to': gpt(ask, reasoning, ask),
  'calls stand with their reasoning': gpt(ask, call(marked('call')), output(marked('call'))),
  'tools have names': { input: [ask], tools: [{ type: 'function', name: 'a b' }] },
}

const chatCall = (id: string, more: object = {}) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}', ...more } }],
})
const answer = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' })
const chat = (...messages: object[]) => ({ messages })

const chatBad: Record<string, object> = {
  'there is a message': chat(),
  'roles are known': chat(user, { role: 'model', content: 'x' }),
  'no text is empty': chat({ role: 'user', content: '' }),
  'calls are in JSON': chat(user, chatCall('a', { arguments: 'x' }), answer('a')),
  'calls have names': chat(user, chatCall('a', { name: '' }), answer('a')),
  'ids of calls are short': chat(user, chatCall(long), answer(long)),
  'every call is answered at once': chat(user, chatCall('a'), user),
  'every answer has a call': chat(user, answer('a')),
  'tools have names': { messages: [user], tools: [{ function: { name: 'a.b' } }] },
}

const turn = (role: string, ...parts: object[]) => ({ role, parts })
const asks = turn('user', { text: 'hi' })
const functionCall = (name = 'look', more: object = {}) => ({ functionCall: { name, args: {}, ...more } })
const functionResponse = (name = 'look') => ({ functionResponse: { name, response: {} } })
const gemini = (...contents: object[]) => ({ contents })

const googleBad: Record<string, object> = {
  'there is a content': gemini(),
  'roles are user and model': gemini(asks, turn('system', { text: 'x' }), asks),
  'the first content is the user’s': gemini(turn('model', { text: 'x' }), asks),
  'calls come after the user': gemini(
    asks,
    turn('model', { text: 'x' }),
    turn('model', functionCall()),
    turn('user', functionResponse()),
  ),
  'the last content is the user’s': gemini(asks, turn('model', { text: 'x' })),
  'every content has parts': gemini(turn('user')),
  'no part is empty': gemini(turn('user', { text: '' })),
  'the system prompt is not empty': { ...gemini(asks), systemInstruction: { parts: [{ text: '' }] } },
  'calls are answered by as many responses, at once': gemini(
    asks,
    turn('model', functionCall(), functionCall()),
    turn('user', functionResponse()),
  ),
  'responses follow calls': gemini(asks, turn('model', { text: 'x' }), turn('user', functionResponse())),
  'responses carry the names of their calls': gemini(
    asks,
    turn('model', functionCall()),
    turn('user', functionResponse('see')),
  ),
  'functions have names': gemini(
    asks,
    turn('model', functionCall('1a')),
    turn('user', functionResponse('1a')),
  ),
  'signatures are unchanged': gemini(asks, turn('model', { text: 'x', thoughtSignature: 'other' }), asks),
  'calls carry the signature they came with': gemini(
    asks,
    turn('model', functionCall('look', { id: marked('gemini') })),
    turn('user', functionResponse()),
  ),
}

const cases = [
  ['anthropic', anthropicRules, anthropicBad],
  ['openai', openaiRules, openaiBad],
  ['openai-chat', chatRules, chatBad],
  ['google', googleRules, googleBad],
] as const

describe.each(cases)('the rules of %s', (_name, rules, bad) => {
  it.each(Object.keys(rules))('refuse a request because of this one alone: %s', rule => {
    expect(broken(rules, bad[rule] as Item)).toEqual([rule])
  })
})

it('accepts valid requests', () => {
  const claudes = claude([
    user,
    says(thought, text('a'), use(marked('toolu'))),
    tells(result(marked('toolu')), text('so?')),
  ])
  expect(broken(anthropicRules, { ...claudes, tools: [tool], system: [text('be kind')] })).toEqual([])
  expect(broken(openaiRules, gpt(ask, reasoning, call(marked('call')), output(marked('call')), ask))).toEqual(
    [],
  )
  expect(broken(chatRules, chat(user, chatCall('a'), answer('a'), user))).toEqual([])
  const known = { ...functionCall('look', { id: marked('gemini') }), thoughtSignature: signatureOf('hm') }
  expect(broken(googleRules, gemini(asks, turn('model', known), turn('user', functionResponse())))).toEqual(
    [],
  )
})

it('accepts a system message in the middle only with the beta header', () => {
  const middle = claude([user, { role: 'system', content: [text('be brief')] }, user])
  const rule = 'roles are user and assistant'
  expect(broken(anthropicRules, middle)).toEqual([rule])
  expect(broken(anthropicRules, middle, { 'anthropic-beta': 'mid-conversation-system-2026-04-07' })).toEqual(
    [],
  )
})
