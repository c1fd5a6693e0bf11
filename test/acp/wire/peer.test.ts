import { describe, expect, it } from 'vitest'
import { createPeer } from '../../../src/acp/wire/peer.ts'
import { parseLine } from '../../../src/acp/wire/read-lines.ts'
import { ConnectionEnded, internalError, RpcError } from '../../../src/acp/wire/rpc-error.ts'
import type { RpcMessage } from '../../../src/acp/wire/wire-line.ts'

/** A peer whose other side is the test. */
function peer(options?: { readonly idPrefix: string }) {
  const sent: (RpcMessage & { readonly jsonrpc: string })[] = []
  const ours = createPeer({ send: line => void sent.push(JSON.parse(String(line))) }, options)
  const take = (message: unknown) => ours.take(parseLine(Buffer.from(JSON.stringify(message))))
  return { ...ours, sent, take }
}

describe('a request of our own', () => {
  it('is sent with a random id, and answered by it', async () => {
    const { request, sent, take } = peer()
    const answers = [request('session/new', { cwd: '/' }), request('session/new', { cwd: '/tmp' })]
    expect(sent).toEqual([
      {
        jsonrpc: '2.0',
        id: expect.stringMatching(/^skein-[0-9a-f]{16}-1$/),
        method: 'session/new',
        params: { cwd: '/' },
      },
      expect.objectContaining({ params: { cwd: '/tmp' } }),
    ])
    expect(sent[0]!.id).not.toBe(sent[1]!.id)
    expect(take({ id: sent[1]!.id, result: { sessionId: 'two' } })).toBe(true)
    expect(take({ id: sent[0]!.id, result: null })).toBe(true)
    expect(await Promise.all(answers)).toEqual([null, { sessionId: 'two' }])
  })

  it('is not answered by lines for other requests', async () => {
    const { request, sent, take } = peer({ idPrefix: 'ours-' })
    const answer = request('a', {})
    const { id } = sent[0]!
    for (const other of [
      { id: 1, result: 'no' },
      { id: '1', result: 'no' },
      { id: null, error: { code: 1, message: 'no' } },
      { id, method: 'a request that happens to have this id' },
      { method: 'session/update', params: { id } },
      { id: `x${id}`, result: 'no' },
      {},
    ])
      expect(take(other)).toBe(false)
    expect(createPeer({ send() {} }).take(parseLine(Buffer.from('no JSON')))).toBe(false)
    expect(take({ id, result: 'yes' })).toBe(true)
    expect(await answer).toBe('yes')
  })

  it('has ids that no other peer accepts', () => {
    const [one, other] = [peer(), peer()]
    void one.request('a', {})
    expect(other.take({ id: one.sent[0]!.id, result: 1 })).toBe(false)
  })

  it('is answered once, and a second answer is not relayed', async () => {
    const { request, sent, take } = peer()
    const answer = request('a', {})
    expect(take({ id: sent[0]!.id, result: 1 })).toBe(true)
    expect(take({ id: sent[0]!.id, result: 2 })).toBe(true)
    expect(await answer).toBe(1)
  })

  it.each([
    [{ code: -32_002, message: 'no such session', data: { id: 1 } }, -32_002, 'no such session', { id: 1 }],
    [{ message: 'without a code' }, internalError, 'without a code', undefined],
    [{ code: 5 }, 5, '{"code":5}', undefined],
    ['just text', internalError, 'just text', undefined],
  ])('is refused as %j says', async (error, code, message, data) => {
    const { request, sent, take } = peer()
    const answer = request('session/load', {})
    take({ id: sent[0]!.id, error })
    const refused = await answer.catch(reason => reason)
    expect(refused).toBeInstanceOf(RpcError)
    expect(refused).toMatchObject({ code, message, data })
  })

  it('is not refused by an error that is null', async () => {
    const { request, sent, take } = peer()
    const answer = request('a', {})
    take({ id: sent[0]!.id, error: null, result: 1 })
    expect(await answer).toBe(1)
  })
})

describe('a cancelled request', () => {
  it('notifies the other side, and is rejected at once', async () => {
    const { request, sent, take } = peer()
    const abort = new AbortController()
    const answer = request('session/prompt', {}, { signal: abort.signal })
    const reason = new Error('changed my mind')
    abort.abort(reason)
    await expect(answer).rejects.toBe(reason)
    const { id } = sent[0]!
    expect(sent.slice(1)).toEqual([{ jsonrpc: '2.0', method: '$/cancel_request', params: { requestId: id } }])
    expect(take({ id, result: { stopReason: 'cancelled' } })).toBe(true)
  })

  it('is not sent if it was cancelled before', async () => {
    const { request, sent } = peer()
    await expect(request('a', {}, { signal: AbortSignal.abort('no') })).rejects.toBe('no')
    expect(sent).toEqual([])
  })

  it('is not cancelled by a signal after its answer', async () => {
    const { request, sent, take } = peer()
    const abort = new AbortController()
    const answer = request('a', {}, { signal: abort.signal })
    take({ id: sent[0]!.id, result: 1 })
    abort.abort()
    expect(await answer).toBe(1)
    expect(sent).toHaveLength(1)
  })
})

describe('when the other side has ended', () => {
  it('every open and every later request is rejected with the reason', async () => {
    const { request, sent, take, end } = peer()
    const abort = new AbortController()
    const answers = [request('initialize', {}), request('session/new', {}, { signal: abort.signal })]
    const reason = new Error('killed by SIGKILL')
    end(reason)
    abort.abort()
    for (const answer of [...answers, request('session/new', {})]) {
      const error = (await answer.catch(thrown => thrown)) as Error
      expect(error).toBeInstanceOf(ConnectionEnded)
      expect(error.cause).toBe(reason)
      expect(error.message).toMatch(/^(initialize|session\/new) was not answered: killed by SIGKILL$/)
    }
    expect(sent).toHaveLength(2)
    expect(take({ id: sent[0]!.id, result: 1 })).toBe(true)
  })
})

describe('a notification of our own', () => {
  it('has no id', () => {
    const { notify, sent } = peer()
    notify('session/cancel', { sessionId: 's' })
    expect(sent).toEqual([{ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: 's' } }])
  })
})
