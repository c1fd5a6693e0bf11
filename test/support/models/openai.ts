import { type Item, item, items, text } from './json.ts'
import { noMessage, type Protocol, type SeenMessage } from './protocol.ts'
import { callId, type Frame, isWait, piecesOf, type Speech, signatureOf, sse, wordsOf } from './reply.ts'
import { openaiRefusal } from './rules.ts'

/** `POST /v1/responses` as OpenAI documents it: the protocol of `openai/…`. */
export const openai: Protocol = {
  name: 'openai',
  matches: path => /\/responses$/.test(path),
  keyOf: headers => headers.authorization?.replace(/^Bearer /, ''),
  read(_path, given) {
    const body = item(given)
    return {
      model: text(body.model),
      stream: body.stream === true,
      messages: items(body.input).flatMap(readItem),
      tools: items(body.tools).map(tool => text(tool.name)),
    }
  },
  refuse: openaiRefusal,
  failure: openaiFailure,
  overflow() {
    const message =
      'Your input exceeds the context window of this model. Please adjust your input and try again.'
    const error = { message, type: 'invalid_request_error', param: 'input', code: 'context_length_exceeded' }
    return { status: 400, body: { error } }
  },
  stream,
  whole: speech => ({
    ...head(speech),
    object: 'response',
    status: 'completed',
    error: null,
    incomplete_details: incomplete(speech),
    output: speech.parts.flatMap((part, at) => outputItem(part, speech, at)),
    usage: usageOf(speech),
  }),
}

/** The error body that both of OpenAI's protocols use. */
export function openaiFailure(status: number, message: string): unknown {
  const codes: Record<number, string> = {
    401: 'invalid_api_key',
    404: 'model_not_found',
    429: 'rate_limit_exceeded',
  }
  const type = status === 429 ? 'requests' : status >= 500 ? 'server_error' : 'invalid_request_error'
  return { error: { message, type, param: null, code: codes[status] ?? null } }
}

function* stream(speech: Speech): Iterable<Frame> {
  let n = 0
  const frame = (type: string, fields: object) => sse({ type, sequence_number: n++, ...fields }, type)
  yield frame('response.created', { response: { ...head(speech), status: 'in_progress' } })
  yield frame('response.in_progress', { response: { ...head(speech), status: 'in_progress' } })
  let output_index = 0
  for (const [at, part] of speech.parts.entries()) {
    if (isWait(part)) {
      yield part
      continue
    }
    if ('fail' in part) {
      const error = { code: 'server_error', message: part.fail }
      yield frame('response.failed', { response: { ...head(speech), status: 'failed', error } })
      return
    }
    for (const whole of outputItem(part, speech, at)) {
      yield frame('response.output_item.added', { output_index, item: begun(whole) })
      yield* deltas(part, speech, text(whole.id), output_index, frame)
      yield frame('response.output_item.done', { output_index, item: whole })
      output_index++
    }
  }
  const type = incomplete(speech) === null ? 'response.completed' : 'response.incomplete'
  yield frame(type, {
    response: { ...head(speech), incomplete_details: incomplete(speech), usage: usageOf(speech) },
  })
}

function* deltas(
  part: Speech['parts'][number],
  { finish }: Speech,
  item_id: string,
  output_index: number,
  frame: (type: string, fields: object) => string,
): Iterable<Frame> {
  const where = { item_id, output_index }
  if ('text' in part) {
    const refuses = finish === 'refused'
    for (const delta of piecesOf(part.text))
      yield refuses
        ? frame('response.refusal.delta', { ...where, content_index: 0, delta })
        : frame('response.output_text.delta', { ...where, content_index: 0, delta, logprobs: [] })
    if (refuses)
      yield frame('response.refusal.done', { ...where, content_index: 0, refusal: wordsOf(part.text) })
  } else if ('thinking' in part) {
    yield frame('response.reasoning_summary_part.added', { ...where, summary_index: 0 })
    for (const delta of piecesOf(part.thinking))
      yield frame('response.reasoning_summary_text.delta', { ...where, summary_index: 0, delta })
    yield frame('response.reasoning_summary_part.done', { ...where, summary_index: 0 })
  } else if ('call' in part) {
    yield frame('response.function_call_arguments.delta', {
      ...where,
      delta: JSON.stringify(part.call.input),
    })
  }
}

/** The item as it is announced, before its content. */
function begun(whole: Item): Item {
  if (whole.type === 'message') return { ...whole, content: [], status: 'in_progress' }
  if (whole.type === 'reasoning') return { ...whole, summary: [], encrypted_content: null }
  return { ...whole, arguments: '', status: 'in_progress' }
}

function outputItem(part: Speech['parts'][number], speech: Speech, at: number): Item[] {
  const place = `${speech.serial}_${at}`
  if ('text' in part) {
    const said = wordsOf(part.text)
    const content = [
      speech.finish === 'refused'
        ? { type: 'refusal', refusal: said }
        : { type: 'output_text', text: said, annotations: [], logprobs: [] },
    ]
    return [{ type: 'message', id: `msg_${place}`, role: 'assistant', status: 'completed', content }]
  }
  if ('thinking' in part) {
    const thought = wordsOf(part.thinking)
    const summary = [{ type: 'summary_text', text: thought }]
    return [{ type: 'reasoning', id: `rs_${place}`, summary, encrypted_content: signatureOf(thought) }]
  }
  if (!('call' in part)) return []
  const call = {
    call_id: callId('call', speech, at),
    name: part.call.name,
    ...(part.call.namespace === undefined ? {} : { namespace: part.call.namespace }),
    arguments: JSON.stringify(part.call.input),
  }
  return [{ type: 'function_call', id: `fc_${place}`, ...call, status: 'completed' }]
}

function head(speech: Speech) {
  return { id: `resp_${speech.serial}`, created_at: 1_700_000_000, model: speech.model }
}

function incomplete({ finish }: Speech): { reason: string } | null {
  if (finish === 'length') return { reason: 'max_output_tokens' }
  return finish === 'filtered' ? { reason: 'content_filter' } : null
}

function usageOf({ usage }: Speech) {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  }
}

function readItem(entry: Item): SeenMessage[] {
  if (entry.type === 'function_call') {
    const call = { id: text(entry.call_id), name: text(entry.name), input: JSON.parse(text(entry.arguments)) }
    return [{ ...noMessage, role: 'assistant', calls: [call] }]
  }
  if (entry.type === 'function_call_output') {
    const output = typeof entry.output === 'string' ? entry.output : textsOf(entry.output)
    return [{ ...noMessage, role: 'tool', results: [{ id: text(entry.call_id), output }] }]
  }
  if (entry.type === 'reasoning')
    return [{ ...noMessage, role: 'assistant', thinking: [textsOf(entry.summary)] }]
  if (entry.role === undefined) return []
  const role = entry.role === 'user' || entry.role === 'assistant' ? entry.role : 'system'
  const media = items(entry.content)
    .map(part => text(part.type))
    .filter(type => /image|file|audio/.test(type))
  const words = typeof entry.content === 'string' ? entry.content : textsOf(entry.content)
  return [{ ...noMessage, role, text: words, media }]
}

function textsOf(parts: unknown): string {
  return items(parts)
    .filter(part => typeof part.text === 'string')
    .map(part => text(part.text))
    .join('\n\n')
}
