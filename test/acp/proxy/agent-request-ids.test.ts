import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAgentRequestIds } from '../../../src/acp/proxy/agent-request-ids.ts'
import { parseLine } from '../../../src/acp/wire/read-lines.ts'

const line = (text: string) => parseLine(Buffer.from(text))
const ids = createAgentRequestIds()
const outgoing = (text: string, generation: number) => ids.outgoing(line(text), generation).toString()
const incoming = (text: string, generation: number) =>
  ids.incoming(line(text), generation)?.toString() ?? null

describe("the ids of an agent's requests", () => {
  it('are unchanged in the first process', () => {
    const asked = '{"id": 1.0,"method":"fs/read_text_file"}'
    const answered = '{"result":{}, "id":1.0}'
    expect(outgoing(asked, 0)).toBe(asked)
    expect(incoming(answered, 0)).toBe(answered)
  })

  it('contain the generation in later processes, and come back as they were', () => {
    const id = fc.oneof(
      fc.constantFrom(
        '0',
        '-1',
        '1.50',
        '12345678901234567890',
        'null',
        '"skein-1-1"',
        '""',
        '"\\u00e9\\n🧶"',
      ),
      fc.string().map(text => JSON.stringify(text)),
      fc.integer().map(String),
    )
    fc.assert(
      fc.property(id, fc.integer({ min: 1, max: 1_000 }), (raw, generation) => {
        const asked = outgoing(`{"jsonrpc":"2.0", "id": ${raw} ,"method":"a"}`, generation)
        const seen = JSON.parse(asked).id
        expect(seen).toBe(`skein-${generation}-${raw}`)
        expect(asked).toBe(`{"jsonrpc":"2.0", "id": ${JSON.stringify(seen)} ,"method":"a"}`)
        const answer = (text: string) => `{"id":${text},"result":{"id":7}}`
        expect(incoming(answer(JSON.stringify(seen)), generation)).toBe(answer(raw))
        expect(incoming(answer(JSON.stringify(seen)), generation + 1)).toBeNull()
      }),
    )
  })

  it('never collide with those of another process', () => {
    const request = '{"id":1,"method":"a"}'
    expect(new Set([0, 1, 2, 11].map(generation => outgoing(request, generation)))).toHaveProperty('size', 4)
  })

  it('are changed in cancellations, too', () => {
    expect(outgoing('{"method":"$/cancel_request","params":{"requestId":4}}', 2)).toBe(
      '{"method":"$/cancel_request","params":{"requestId":"skein-2-4"}}',
    )
  })

  it.each([
    '{"method":"session/update","params":{"id":1}}',
    '{"id":1,"result":{}}',
    '{"id":"client","error":{"code":1,"message":"no"}}',
    'Warming up',
  ])('are not searched for in %s', text => {
    expect(outgoing(text, 3)).toBe(text)
  })
})

describe("a client's line", () => {
  it.each([
    '{"id":1,"method":"session/prompt"}',
    '{"method":"session/cancel"}',
    '{"method":"$/cancel_request","params":{"requestId":1}}',
    '{"id":null,"error":{"code":-32700,"message":"Parse error"}}',
    'no JSON',
  ])('passes if it does not answer a request: %s', text => {
    expect(incoming(text, 3)).toBe(text)
  })

  it.each([
    ['the first process', '{"id":1,"result":{}}'],
    ['the first process', '{"id":"a","result":{}}'],
    ['an earlier process', '{"id":"skein-2-1","result":{}}'],
    ['no process', '{"id":"skein-3-","result":{}}'],
    ['no process', '{"id":"skein-3-}{","result":{}}'],
    ['no process', '{"id":"skein-3-1,\\"result\\":2","result":{}}'],
    ['no process', '{"id":"skein-3- 1","result":{}}'],
  ])('is dropped if it answers %s: %s', (_, text) => {
    expect(incoming(text, 3)).toBeNull()
  })
})
