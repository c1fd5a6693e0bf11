import { type Item, item, items, text } from './json.ts'
import { openaiFailure } from './openai.ts'
import { noMessage, type Protocol, type SeenMessage } from './protocol.ts'
import { callId, type Frame, isWait, piecesOf, type Speech, sse, wordsOf } from './reply.ts'
import { chatRefusal } from './rules.ts'

/** `POST /v1/chat/completions`: the protocol of `compatible/…` and `ollama/…`. */
export const openaiChat: Protocol = {
  name: 'openai-chat',
  matches: path => /\/chat\/completions$/.test(path),
  keyOf: headers => headers.authorization?.replace(/^Bearer /, ''),
  read(_path, given) {
    const body = item(given)
    return {
      model: text(body.model),
      stream: body.stream === true,
      messages: items(body.messages).map(readMessage),
      tools: items(body.tools).map(tool => text(item(tool.function).name)),
    }
  },
  refuse: chatRefusal,
  failure: openaiFailure,
  overflow(limit, needed) {
    const message = `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${needed} tokens. Please reduce the length of the messages.`
    const error = {
      message,
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    }
    return { status: 400, body: { error } }
  },
  stream,
  whole: speech => ({
    ...head(speech),
    object: 'chat.completion',
    choices: [{ index: 0, message: wholeMessage(speech), finish_reason: finishOf(speech) }],
    usage: usageOf(speech),
  }),
}

function* stream(speech: Speech): Iterable<Frame> {
  const frame = (delta: unknown, finish_reason: string | null = null) =>
    sse({ ...head(speech), object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })
  yield frame({ role: 'assistant', content: '' })
  let index = 0
  for (const [at, part] of speech.parts.entries()) {
    if (isWait(part)) yield part
    else if ('fail' in part) {
      yield sse(openaiFailure(500, part.fail))
      return
    } else if ('text' in part)
      for (const piece of piecesOf(part.text))
        yield frame(speech.finish === 'refused' ? { refusal: piece } : { content: piece })
    else if ('thinking' in part)
      for (const piece of piecesOf(part.thinking)) yield frame({ reasoning_content: piece })
    else if ('call' in part) {
      const { name, input } = part.call
      yield frame({
        tool_calls: [
          { index, id: callId('chat', speech, at), type: 'function', function: { name, arguments: '' } },
        ],
      })
      yield frame({ tool_calls: [{ index, function: { arguments: JSON.stringify(input) } }] })
      index++
    }
  }
  yield frame({}, finishOf(speech))
  yield sse({ ...head(speech), object: 'chat.completion.chunk', choices: [], usage: usageOf(speech) })
  yield 'data: [DONE]\n\n'
}

function wholeMessage(speech: Speech) {
  const texts = speech.parts.flatMap(part => ('text' in part ? [wordsOf(part.text)] : []))
  const thoughts = speech.parts.flatMap(part => ('thinking' in part ? [wordsOf(part.thinking)] : []))
  const calls = speech.parts.flatMap((part, at) => {
    if (!('call' in part)) return []
    const { name, input } = part.call
    return [
      {
        id: callId('chat', speech, at),
        type: 'function',
        function: { name, arguments: JSON.stringify(input) },
      },
    ]
  })
  return {
    role: 'assistant',
    content: texts.length === 0 || speech.finish === 'refused' ? null : texts.join(''),
    ...(speech.finish === 'refused' && { refusal: texts.join('') }),
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join('') }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

function head(speech: Speech) {
  return { id: `chatcmpl-${speech.serial}`, created: 1_700_000_000, model: speech.model }
}

function finishOf({ finish }: Speech): string {
  if (finish === 'refused') return 'stop'
  return finish === 'filtered' ? 'content_filter' : finish
}

function usageOf({ usage }: Speech) {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  }
}

function readMessage(message: Item): SeenMessage {
  const words = typeof message.content === 'string' ? message.content : textsOf(items(message.content))
  if (message.role === 'tool')
    return { ...noMessage, role: 'tool', results: [{ id: text(message.tool_call_id), output: words }] }
  const calls = items(message.tool_calls).map(call => ({
    id: text(call.id),
    name: text(item(call.function).name),
    input: JSON.parse(text(item(call.function).arguments)) as unknown,
  }))
  const thinking = typeof message.reasoning_content === 'string' ? [message.reasoning_content] : []
  const role = message.role === 'user' || message.role === 'assistant' ? message.role : 'system'
  const media = items(message.content)
    .map(part => text(part.type))
    .filter(type => type !== 'text')
  return { ...noMessage, role, text: words, calls, thinking, media }
}

function textsOf(parts: readonly Item[]): string {
  return parts
    .filter(part => part.type === 'text')
    .map(part => text(part.text))
    .join('\n\n')
}
