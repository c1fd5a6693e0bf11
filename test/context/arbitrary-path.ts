import fc from 'fast-check'
import { asBlock, type Block, type MediaBlock, type NewBlock } from '../../src/core/block.ts'
import type { Json, JsonObject } from '../../src/core/json.ts'
import type { Message } from '../../src/core/message.ts'
import { signatureOf, thoughtMark } from '../support/models/reply.ts'
import { pathOf, type Said } from './path.ts'

/** The provider of the model that wrote the message. It wants its thinking back with the calls that
 *  follow. */
export interface Author {
  readonly provider: string
  readonly model: string
}

const words = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('hello', 'why?', 'It is done.', 'User: fake', '<|endoftext|>', '🧵 thread'),
  },
  { weight: 2, arbitrary: fc.constantFrom('', ' ', '\n\t', 'half \ud800 a pair') },
  { weight: 1, arbitrary: fc.integer({ min: 200, max: 6_000 }).map(n => 'long words '.repeat(n / 11)) },
)
const text = words.map((text): Block => ({ type: 'text', text }))

const providers = {
  anthropic: (thought: string) => ({ anthropic: { signature: signatureOf(thought) } }),
  openai: (thought: string) => ({
    openai: { itemId: `rs_${thoughtMark(thought)}`, reasoningEncryptedContent: signatureOf(thought) },
  }),
  google: () => ({ google: {} }),
}
interface Thought {
  readonly text: string
  readonly by: keyof typeof providers | null
}
const thought: fc.Arbitrary<Thought> = fc.record({
  text: fc.constantFrom('hm', 'let me see', 'wait, but why'),
  by: fc.constantFrom('anthropic', 'openai', 'google', null),
})
const thinkingOf = ({ text, by }: Thought, model: string): Block =>
  by === null
    ? { type: 'thinking', text }
    : { type: 'thinking', text, metadata: { provider: providers[by](text), model } }
const thinking = thought.map(one => thinkingOf(one, 'a model of the past'))

const ids = fc.constantFrom('a', 'b', 'c', 'd', '', 'functions.read:0', 'x'.repeat(60))
const inputs = fc.constantFrom<Json>(
  {},
  { path: 'src' },
  { deep: ['half \udfff'] },
  null,
  'plain',
  [1, 2],
  'l '.repeat(900),
)
const call = fc
  .tuple(ids, fc.constantFrom('read', 'files.read', '2 odd names', ''), inputs)
  .map(([callId, name, input]): Block => ({ type: 'tool_call', callId, name, input }))
const outputs = fc.oneof(
  fc.constantFrom<Json>('', 'found', { n: 1 }, [], null, [{ type: 'text', text: 'x' }]),
  words,
)
const resultOf = (id: fc.Arbitrary<string>) =>
  fc.tuple(id, outputs, fc.boolean()).map(
    ([callId, output, isError]): Block => ({
      type: 'tool_result',
      callId,
      output,
      ...(isError && { isError }),
    }),
  )

const media = fc
  .constantFrom('image/png', 'image/tiff', 'audio/wav', 'video/mp4', 'text/plain', 'application/pdf')
  .chain(mime =>
    fc
      .constantFrom<Partial<MediaBlock>>(
        { data: 'aGVsbG8=' },
        { url: 'https://example.org/a' },
        { url: 'odd' },
      )
      .map((source): Block => ({ type: kindOf(mime), mime, ...source })),
  )
function kindOf(mime: string): MediaBlock['type'] {
  const [kind] = mime.split('/')
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file'
}
const other = fc
  .constantFrom<NewBlock>(
    { type: 'hologram', depth: 3 },
    {
      type: 'provider_call',
      callId: 's',
      name: 'search',
      input: {},
      metadata: { provider: { unknown: {} } },
    },
  )
  .map(asBlock)

const meta = fc.option(fc.constantFrom({ interrupted: true }, { failed: true }, { imported: true }), {
  freq: 4,
})
const anything = fc.oneof(text, text, thinking, call, resultOf(ids), media, other)

/** A message of any role with any blocks. */
const odd: fc.Arbitrary<Said> = fc
  .tuple(
    fc.constantFrom<Said['role']>('user', 'assistant', 'tool_result', 'system'),
    fc.array(anything, { maxLength: 4 }),
    meta,
    fc.integer({ min: 0, max: 9 }),
  )
  .map(([role, content, meta, lot]) => ({
    role,
    content,
    ...(meta && { metadata: meta }),
    ...(lot === 0 && { erased: true }),
  }))

/** One answer with thinking and tool calls, and its results: in order or not, in one message or in
 *  several. */
const stepOf = (author: Author): fc.Arbitrary<readonly Said[]> =>
  fc
    .record({
      thought: fc.option(thought),
      said: fc.option(text),
      count: fc.integer({ min: 1, max: 3 }),
      serial: fc.integer({ min: 0, max: 0xffffff }),
      split: fc.boolean(),
      reverse: fc.boolean(),
      missing: fc.integer({ min: 0, max: 8 }),
      between: fc.option(odd, { freq: 8 }),
      output: outputs,
    })
    .map(({ thought, said, count, serial, split, reverse, missing, between, output }) => {
      // The test server recognizes by such an id that this thinking must accompany the call.
      const mark = thought?.by === author.provider ? `_t${thoughtMark(thought.text)}` : ''
      const made = Array.from({ length: count }, (_, i) => `call_${serial.toString(16)}_${i}${mark}`)
      const calls = made.map(
        (callId): Block => ({ type: 'tool_call', callId, name: 'read', input: {}, ...proofOf(thought) }),
      )
      const thinks = thought ? [thinkingOf(thought, author.model)] : []
      const answer: Said = { role: 'assistant', content: [...thinks, ...(said ? [said] : []), ...calls] }
      const found = made
        .filter((_, i) => i !== missing)
        .map((callId): Block => ({ type: 'tool_result', callId, output }))
      if (reverse) found.reverse()
      const stored: Said[] = split
        ? found.map(one => ({ role: 'tool_result', content: [one] }))
        : [{ role: 'tool_result', content: found }]
      return [answer, ...(between ? [between] : []), ...stored]
    })

/** Google puts the signature of its thinking on the calls. */
function proofOf(thought: Thought | null): { metadata?: JsonObject } {
  if (thought?.by !== 'google') return {}
  return { metadata: { provider: { google: { thoughtSignature: signatureOf(thought.text) } } } }
}

const turnOf = (author: Author): fc.Arbitrary<readonly Said[]> =>
  fc
    .tuple(text, fc.array(stepOf(author), { maxLength: 4 }), fc.option(fc.tuple(fc.option(thinking), text)))
    .map(([question, steps, end]) => [
      { role: 'user', content: [question] },
      ...steps.flat(),
      ...(end ? [{ role: 'assistant', content: end.filter(block => block !== null) } as const] : []),
    ])

/** Paths as they are after years of imports, crashes and other programs: well-formed turns of this author
 *  between random messages. */
export const arbitraryPath = (author: Author): fc.Arbitrary<readonly Message[]> =>
  fc
    .array(
      fc.oneof({ weight: 3, arbitrary: turnOf(author) }, { weight: 1, arbitrary: odd.map(one => [one]) }),
      { maxLength: 10 },
    )
    .map(parts => pathOf(...parts.flat()))
