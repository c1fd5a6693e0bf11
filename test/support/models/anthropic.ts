import { type Item, item, items, text } from './json.ts'
import { noMessage, type Protocol, type SeenMessage } from './protocol.ts'
import { callId, type Frame, isWait, piecesOf, type Speech, signatureOf, sse, wordsOf } from './reply.ts'
import { anthropicRefusal } from './rules.ts'

/** `POST /v1/messages` as Anthropic documents it. */
export const anthropic: Protocol = {
  name: 'anthropic',
  matches: path => /\/messages$/.test(path),
  keyOf: headers => headers['x-api-key'] ?? headers.authorization?.replace(/^Bearer /, ''),
  read(_path, given) {
    const body = item(given)
    const system = typeof body.system === 'string' ? body.system : textsOf(items(body.system))
    const first: SeenMessage[] = system === '' ? [] : [{ ...noMessage, role: 'system', text: system }]
    return {
      model: text(body.model),
      stream: body.stream === true,
      messages: [...first, ...items(body.messages).map(readMessage)],
      tools: items(body.tools).map(tool => text(tool.name)),
    }
  },
  refuse: anthropicRefusal,
  failure: (status, message) => ({
    type: 'error',
    error: { type: typeOf(status), message },
    request_id: 'req_loopback',
  }),
  overflow(limit, needed) {
    const message = `prompt is too long: ${needed} tokens > ${limit} maximum`
    return { status: 400, body: anthropic.failure(400, message) }
  },
  stream,
  whole: speech => ({
    ...head(speech),
    content: speech.parts.flatMap((part, at) => wholePart(part, speech, at)),
    stop_reason: stopReason(speech),
    stop_sequence: null,
    usage: { ...inputUsage(speech), output_tokens: speech.usage.output },
  }),
}

function* stream(speech: Speech): Iterable<Frame> {
  const message = { ...head(speech), content: [], stop_reason: null, stop_sequence: null }
  yield frame({
    type: 'message_start',
    message: { ...message, usage: { ...inputUsage(speech), output_tokens: 1 } },
  })
  yield frame({ type: 'ping' })
  let index = -1
  for (const [at, part] of speech.parts.entries()) {
    if (isWait(part)) {
      yield part
      continue
    }
    if ('fail' in part) {
      yield frame({ type: 'error', error: { type: 'overloaded_error', message: part.fail } })
      return
    }
    index++
    yield* block(part, speech, at, index)
  }
  const delta = { stop_reason: stopReason(speech), stop_sequence: null }
  yield frame({ type: 'message_delta', delta, usage: { output_tokens: speech.usage.output } })
  yield frame({ type: 'message_stop' })
}

function* block(part: Speech['parts'][number], speech: Speech, at: number, index: number): Iterable<Frame> {
  const start = (content_block: unknown) => frame({ type: 'content_block_start', index, content_block })
  const delta = (change: unknown) => frame({ type: 'content_block_delta', index, delta: change })
  if ('text' in part) {
    yield start({ type: 'text', text: '' })
    for (const piece of piecesOf(part.text)) yield delta({ type: 'text_delta', text: piece })
  } else if ('thinking' in part) {
    yield start({ type: 'thinking', thinking: '', signature: '' })
    for (const piece of piecesOf(part.thinking)) yield delta({ type: 'thinking_delta', thinking: piece })
    yield delta({ type: 'signature_delta', signature: signatureOf(wordsOf(part.thinking)) })
  } else if ('redacted' in part) {
    yield start({ type: 'redacted_thinking', data: signatureOf(part.redacted) })
  } else if ('call' in part) {
    yield start({ type: 'tool_use', id: callId('toolu', speech, at), name: part.call.name, input: {} })
    const json = JSON.stringify(part.call.input)
    const half = Math.ceil(json.length / 2)
    yield delta({ type: 'input_json_delta', partial_json: json.slice(0, half) })
    yield delta({ type: 'input_json_delta', partial_json: json.slice(half) })
  }
  yield frame({ type: 'content_block_stop', index })
}

function wholePart(part: Speech['parts'][number], speech: Speech, at: number): unknown[] {
  if ('text' in part) return [{ type: 'text', text: wordsOf(part.text) }]
  if ('thinking' in part) {
    const thinking = wordsOf(part.thinking)
    return [{ type: 'thinking', thinking, signature: signatureOf(thinking) }]
  }
  if ('redacted' in part) return [{ type: 'redacted_thinking', data: signatureOf(part.redacted) }]
  if (!('call' in part)) return []
  return [{ type: 'tool_use', id: callId('toolu', speech, at), name: part.call.name, input: part.call.input }]
}

function head(speech: Speech) {
  return { id: `msg_${speech.serial}`, type: 'message', role: 'assistant', model: speech.model }
}

function inputUsage({ usage }: Speech) {
  return {
    input_tokens: usage.input,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: usage.cacheWrite,
  }
}

function stopReason({ finish }: Speech): string {
  const reasons = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' }
  return finish === 'filtered' || finish === 'refused' ? 'refusal' : reasons[finish]
}

function typeOf(status: number): string {
  const types: Record<number, string> = {
    400: 'invalid_request_error',
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    429: 'rate_limit_error',
    529: 'overloaded_error',
  }
  return types[status] ?? 'api_error'
}

function frame(data: { readonly type: string; readonly [field: string]: unknown }): string {
  return sse(data, data.type)
}

function textsOf(blocks: readonly Item[]): string {
  return blocks
    .filter(block => block.type === 'text')
    .map(block => text(block.text))
    .join('\n\n')
}

function readMessage(message: Item): SeenMessage {
  const role = message.role === 'assistant' ? 'assistant' : message.role === 'system' ? 'system' : 'user'
  if (typeof message.content === 'string') return { ...noMessage, role, text: message.content }
  const blocks = items(message.content)
  const results = blocks.filter(block => block.type === 'tool_result')
  return {
    role: role === 'user' && results.length > 0 && results.length === blocks.length ? 'tool' : role,
    text: textsOf(blocks),
    thinking: blocks.filter(block => block.type === 'thinking').map(block => text(block.thinking)),
    calls: blocks
      .filter(block => block.type === 'tool_use')
      .map(block => ({ id: text(block.id), name: text(block.name), input: block.input })),
    results: results.map(block => ({
      id: text(block.tool_use_id),
      output: typeof block.content === 'string' ? block.content : textsOf(items(block.content)),
      ...(block.is_error === true && { isError: true }),
    })),
    media: blocks
      .filter(block => block.type === 'image' || block.type === 'document')
      .map(block => text(item(block.source).media_type)),
  }
}
