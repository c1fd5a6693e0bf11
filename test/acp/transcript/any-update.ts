import fc from 'fast-check'
import type { JsonObject } from '../../../src/core/json.ts'

const meta = fc.option(fc.dictionary(fc.string(), fc.jsonValue()), { nil: null })
const annotations = fc.option(
  fc.record(
    {
      audience: fc.option(fc.subarray(['assistant', 'user']), { nil: null }),
      lastModified: fc.option(fc.string(), { nil: null }),
      priority: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 }), { nil: null }),
      _meta: meta,
    },
    { requiredKeys: [] },
  ),
  { nil: null },
)
const mimes = fc.constantFrom('image/png', 'text/plain', 'text/x-rust', 'audio/wav', 'x', '')
const uris = fc.constantFrom('file:///a/b.ts', 'file:///', 'https://a.b/c?d#e', 'zed:///x', 'no uri', '')
const base64 = fc.oneof(fc.base64String(), fc.string())
const about = { annotations, _meta: meta }

/** Content blocks of the schema. */
export const anyContent = fc
  .oneof(
    fc.record(
      { type: fc.constant('text'), text: fc.string({ unit: 'binary' }), ...about },
      { requiredKeys: ['type', 'text'] },
    ),
    fc.record(
      {
        type: fc.constant('image'),
        data: base64,
        mimeType: mimes,
        uri: fc.option(uris, { nil: null }),
        ...about,
      },
      { requiredKeys: ['type', 'data', 'mimeType'] },
    ),
    fc.record(
      { type: fc.constant('audio'), data: base64, mimeType: mimes, ...about },
      { requiredKeys: ['type', 'data', 'mimeType'] },
    ),
    fc.record(
      {
        type: fc.constant('resource_link'),
        name: fc.string(),
        uri: uris,
        mimeType: fc.option(mimes, { nil: null }),
        title: fc.option(fc.string(), { nil: null }),
        description: fc.option(fc.string(), { nil: null }),
        size: fc.option(fc.nat(), { nil: null }),
        ...about,
      },
      { requiredKeys: ['type', 'name', 'uri'] },
    ),
    fc.record(
      {
        type: fc.constant('resource'),
        resource: fc.oneof(
          fc.record(
            {
              text: fc.string({ unit: 'binary' }),
              uri: uris,
              mimeType: fc.option(mimes, { nil: null }),
              _meta: meta,
            },
            { requiredKeys: ['text', 'uri'] },
          ),
          fc.record(
            { blob: base64, uri: uris, mimeType: fc.option(mimes, { nil: null }), _meta: meta },
            { requiredKeys: ['blob', 'uri'] },
          ),
        ),
        ...about,
      },
      { requiredKeys: ['type', 'resource'] },
    ),
  )
  .map(asJson)

const ids = fc.constantFrom('a', 'b', 'c', 'd')
const chunk = fc.record(
  {
    sessionUpdate: fc.constantFrom('user_message_chunk', 'agent_message_chunk', 'agent_thought_chunk'),
    content: fc.oneof(
      { weight: 3, arbitrary: fc.record({ type: fc.constant('text'), text: fc.string({ maxLength: 6 }) }) },
      { weight: 1, arbitrary: anyContent },
    ),
    messageId: fc.constantFrom(null, 'm1', 'm2'),
  },
  { requiredKeys: ['sessionUpdate', 'content'] },
)
const toolContent = fc.oneof(
  fc.record({ type: fc.constant('content'), content: anyContent }),
  fc.record({ type: fc.constant('diff'), path: fc.string(), oldText: fc.string(), newText: fc.string() }),
  fc.record({ type: fc.constant('terminal'), terminalId: fc.string() }),
)
const terminal = { terminal_id: fc.constantFrom('a', 't'), data: fc.string({ maxLength: 6 }) }
const callMeta = fc.record(
  {
    terminal_info: fc.record({ terminal_id: terminal.terminal_id }),
    terminal_output: fc.record(terminal),
    terminal_output_delta: fc.record(terminal),
    terminal_exit: fc.record({ terminal_id: terminal.terminal_id, exit_code: fc.nat() }),
    vendor: fc.jsonValue({ maxDepth: 1 }),
  },
  { requiredKeys: [] },
)
const call = fc.record(
  {
    sessionUpdate: fc.constantFrom('tool_call', 'tool_call_update'),
    toolCallId: ids,
    title: fc.constantFrom('Read a.ts', '`npm test`', '', '…'),
    name: fc.constantFrom(null, 'read_file', 'an odd name!'),
    kind: fc.constantFrom('read', 'execute', 'other', null),
    status: fc.constantFrom('pending', 'in_progress', 'completed', 'failed', null),
    rawInput: fc.jsonValue({ maxDepth: 2 }),
    rawOutput: fc.jsonValue({ maxDepth: 2 }),
    content: fc.array(toolContent, { maxLength: 2 }),
    locations: fc.array(fc.record({ path: fc.string(), line: fc.nat() }), { maxLength: 2 }),
    _meta: callMeta,
  },
  { requiredKeys: ['sessionUpdate', 'toolCallId', 'title'] },
)
const others = fc.record({
  sessionUpdate: fc.constantFrom('plan', 'notice', 'current_mode_update', 'of_the_future'),
  entries: fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 2 }),
  currentModeId: fc.string(),
})

/** Updates of a turn, as agents send them. */
export const anyUpdate = fc
  .oneof({ weight: 4, arbitrary: chunk }, { weight: 4, arbitrary: call }, { weight: 1, arbitrary: others })
  .map(asJson)

/** The same with one wrong or missing field, at the top or in the content. */
export const bentUpdate = fc
  .tuple(anyUpdate, fc.nat(), fc.boolean(), fc.option(fc.jsonValue({ maxDepth: 1 }), { nil: undefined }))
  .map(([update, which, inside, by]): JsonObject => {
    const content = update.content as JsonObject | undefined
    if (inside && content && !Array.isArray(content)) return { ...update, content: bent(content, which, by) }
    return bent(update, which, by)
  })

function bent(value: JsonObject, which: number, by: unknown): JsonObject {
  const keys = Object.keys(value)
  return asJson({ ...value, [keys[which % keys.length]!]: by })
}

/** As it arrives over the wire: without undefined members, and with plain prototypes. */
function asJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject
}
