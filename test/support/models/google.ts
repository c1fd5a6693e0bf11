import { type Item, item, items, text } from './json.ts'
import { noMessage, type Protocol, type SeenMessage } from './protocol.ts'
import { callId, type Frame, isWait, piecesOf, type Speech, signatureOf, sse, wordsOf } from './reply.ts'
import { googleRefusal } from './rules.ts'

/** `models/…:generateContent` and `:streamGenerateContent?alt=sse` as Google documents them. */
export const google: Protocol = {
  name: 'google',
  matches: path => /:(streamGenerateContent|generateContent)$/.test(path),
  keyOf: headers => headers['x-goog-api-key'],
  read(path, given) {
    const body = item(given)
    const system = items(item(body.systemInstruction).parts)
      .map(part => text(part.text))
      .join('\n\n')
    const first: SeenMessage[] = system === '' ? [] : [{ ...noMessage, role: 'system', text: system }]
    return {
      model: /models\/([^:/]+):/.exec(path)?.[1] ?? '',
      stream: path.endsWith(':streamGenerateContent'),
      messages: [...first, ...items(body.contents).map(readContent)],
      tools: items(body.tools).flatMap(tool => items(tool.functionDeclarations).map(one => text(one.name))),
    }
  },
  refuse: googleRefusal,
  failure: (status, message) => ({ error: { code: status, message, status: statusName(status) } }),
  overflow(limit, needed) {
    const message = `The input token count (${needed}) exceeds the maximum number of tokens allowed (${limit}).`
    return { status: 400, body: google.failure(400, message) }
  },
  stream,
  whole: speech =>
    response(
      speech,
      speech.parts.flatMap((part, at) => partsOf(part, speech, at).flat()),
      true,
    ),
}

function* stream(speech: Speech): Iterable<Frame> {
  for (const [at, part] of speech.parts.entries()) {
    if (isWait(part)) yield part
    else if ('fail' in part) {
      yield sse(google.failure(503, part.fail))
      return
    } else for (const parts of partsOf(part, speech, at)) yield sse(response(speech, parts, false))
  }
  yield sse(response(speech, [], true))
}

/** The pieces of one part. As in Gemini, the signature of thinking arrives with the call after it. */
function partsOf(part: Speech['parts'][number], speech: Speech, at: number): unknown[][] {
  if ('text' in part) return piecesOf(part.text).map(piece => [{ text: piece }])
  if ('thinking' in part) return piecesOf(part.thinking).map(piece => [{ text: piece, thought: true }])
  if (!('call' in part)) return []
  const functionCall = { id: callId('gemini', speech, at), name: part.call.name, args: part.call.input }
  const before = speech.parts.slice(0, at)
  const thought = before.findLast(one => 'thinking' in one)
  const isFirst = !before.some(one => 'call' in one)
  if (thought === undefined || !('thinking' in thought) || !isFirst) return [[{ functionCall }]]
  return [[{ functionCall, thoughtSignature: signatureOf(wordsOf(thought.thinking)) }]]
}

function response(speech: Speech, parts: readonly unknown[], last: boolean): unknown {
  const reasons = {
    stop: 'STOP',
    tool_calls: 'STOP',
    length: 'MAX_TOKENS',
    filtered: 'SAFETY',
    refused: 'SAFETY',
  }
  const { usage } = speech
  return {
    candidates: [
      { content: { role: 'model', parts }, index: 0, ...(last && { finishReason: reasons[speech.finish] }) },
    ],
    ...(last && {
      usageMetadata: {
        promptTokenCount: usage.input,
        candidatesTokenCount: usage.output - usage.reasoning,
        thoughtsTokenCount: usage.reasoning,
        cachedContentTokenCount: usage.cacheRead,
        totalTokenCount: usage.input + usage.output,
      },
    }),
    modelVersion: speech.model,
    responseId: speech.serial,
  }
}

function statusName(status: number): string {
  const names: Record<number, string> = {
    400: 'INVALID_ARGUMENT',
    401: 'UNAUTHENTICATED',
    403: 'PERMISSION_DENIED',
    404: 'NOT_FOUND',
    429: 'RESOURCE_EXHAUSTED',
    503: 'UNAVAILABLE',
  }
  return names[status] ?? 'INTERNAL'
}

function readContent(content: Item): SeenMessage {
  const parts = items(content.parts)
  const results = parts.filter(part => part.functionResponse !== undefined)
  const model = content.role === 'model'
  return {
    role: model ? 'assistant' : results.length > 0 && results.length === parts.length ? 'tool' : 'user',
    text: parts
      .filter(part => typeof part.text === 'string' && part.thought !== true)
      .map(part => text(part.text))
      .join('\n\n'),
    thinking: parts.filter(part => part.thought === true).map(part => text(part.text)),
    calls: parts
      .filter(part => part.functionCall !== undefined)
      .map(part => item(part.functionCall))
      .map(call => ({ id: text(call.id), name: text(call.name), input: call.args })),
    results: results.map(part => {
      const answered = item(part.functionResponse)
      return { id: text(answered.id), output: JSON.stringify(answered.response) }
    }),
    media: parts
      .map(part => text(item(part.inlineData).mimeType) || text(item(part.fileData).mimeType))
      .filter(mime => mime !== ''),
  }
}
