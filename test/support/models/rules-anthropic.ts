import { type Item, item, items, text } from './json.ts'
import { markOf, signatureOf, thoughtMark } from './reply.ts'
import { firstFault, isBlank, type Rules, twice } from './rule.ts'

/** Anthropic's rules for a request, in its own words (docs: Messages API, tool use, extended thinking). */
export const anthropicRules: Rules = {
  'max_tokens is there': body => (typeof body.max_tokens === 'number' ? null : 'max_tokens: Field required'),

  'there is a message': body =>
    items(body.messages).length > 0 ? null : 'messages: at least one message is required',

  'roles are user and assistant': (body, headers) =>
    firstFault(items(body.messages), ({ role }, at) => {
      if (role === 'user' || role === 'assistant') return null
      if (role === 'system' && headers['anthropic-beta']?.includes('mid-conversation-system')) return null
      return `messages.${at}.role: Input should be 'user' or 'assistant'`
    }),

  'the first message is the user’s': body => {
    const first = items(body.messages)[0]
    return first?.role === 'assistant' ? 'messages: first message must use the "user" role' : null
  },

  'roles alternate': body =>
    firstFault(items(body.messages), ({ role }, at) => {
      const same = at > 0 && items(body.messages)[at - 1]?.role === role
      return same
        ? `messages: roles must alternate between "user" and "assistant", but found multiple "${role}" roles in a row`
        : null
    }),

  'the last message is the user’s': body =>
    items(body.messages).length > 1 && items(body.messages).at(-1)?.role === 'assistant'
      ? 'This model does not support assistant message prefill. The conversation must end with a user message.'
      : null,

  'every message says something': body =>
    firstFault(items(body.messages), ({ content }, at) =>
      content === '' || (Array.isArray(content) && content.length === 0)
        ? `messages.${at}: all messages must have non-empty content except for the optional final assistant message`
        : null,
    ),

  'no text is empty': body =>
    firstFault(textsOf(body), block =>
      isBlank(block.text) ? 'messages: text content blocks must contain non-whitespace text' : null,
    ),

  'the system prompt is not empty': body =>
    firstFault(items(body.system), block =>
      isBlank(block.text) ? 'system: text content blocks must be non-empty' : null,
    ),

  'tools have names': body =>
    firstFault(items(body.tools), (tool, at) =>
      /^[a-zA-Z0-9_-]{1,128}$/.test(text(tool.name))
        ? null
        : `tools.${at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`,
    ),

  'tools are named once': body => {
    const name = twice(items(body.tools).map(tool => text(tool.name)))
    return name === undefined ? null : 'tools: Tool names must be unique.'
  },

  'tool schemas are of objects': body =>
    firstFault(items(body.tools), (tool, at) =>
      item(tool.input_schema).type === 'object'
        ? null
        : `tools.${at}.custom.input_schema.type: Input should be 'object'`,
    ),

  'calls have ids': body =>
    firstFault(callsOf(body), call =>
      /^[a-zA-Z0-9_-]+$/.test(text(call.id))
        ? null
        : `messages: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`,
    ),

  'calls have names': body =>
    firstFault(callsOf(body), call =>
      /^[a-zA-Z0-9_-]{1,200}$/.test(text(call.name))
        ? null
        : `messages: tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'`,
    ),

  'calls have objects as input': body =>
    firstFault(callsOf(body), call =>
      typeof call.input === 'object' && call.input !== null && !Array.isArray(call.input)
        ? null
        : 'messages: tool_use.input: Input should be a valid dictionary',
    ),

  'ids of calls are unique': body =>
    twice(callsOf(body).map(call => text(call.id))) === undefined
      ? null
      : 'messages: `tool_use` ids must be unique',

  'every call is answered in the next message': body =>
    firstFault(items(body.messages), (message, at) => {
      const next = blocksOf(items(body.messages)[at + 1])
      const answered = new Set(next.map(block => text(block.tool_use_id)))
      const open = blocksOf(message).filter(
        block => block.type === 'tool_use' && !answered.has(text(block.id)),
      )
      return open.length === 0
        ? null
        : `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.map(call => text(call.id)).join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
    }),

  'every result has a call in the message before': body =>
    firstFault(items(body.messages), (message, at) => {
      const calls = new Set(blocksOf(items(body.messages)[at - 1]).map(block => text(block.id)))
      return firstFault(resultsOf(message), ({ tool_use_id: id }) =>
        calls.has(text(id))
          ? null
          : `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${text(id)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      )
    }),

  'a call has one result': body =>
    firstFault(items(body.messages), (message, at) => {
      const id = twice(resultsOf(message).map(block => text(block.tool_use_id)))
      return id === undefined
        ? null
        : `messages.${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`
    }),

  'results stand before words': body =>
    firstFault(items(body.messages), (message, at) => {
      const types = blocksOf(message).map(block => block.type)
      return types.lastIndexOf('tool_result') > types.findIndex(type => type !== 'tool_result') &&
        types.some(type => type !== 'tool_result')
        ? `messages.${at}: tool_result blocks must come first in the content of a message`
        : null
    }),

  'results have content of known kinds': body =>
    firstFault(items(body.messages).flatMap(resultsOf), ({ content }) => {
      if (content === undefined || typeof content === 'string') return null
      return items(content).every(part => /^(text|image|document|search_result)$/.test(text(part.type)))
        ? null
        : 'messages: tool_result.content: Input tag does not match any of the expected tags'
    }),

  'images are of known kinds': body =>
    firstFault(imagesOf(body), ({ source }) =>
      item(source).type !== 'base64' || /^image\/(jpeg|png|gif|webp)$/.test(text(item(source).media_type))
        ? null
        : "messages: image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    ),

  'thinking is signed': body =>
    firstFault(thoughtsOf(body), block =>
      block.type === 'redacted_thinking' || text(block.signature) !== ''
        ? null
        : 'messages: thinking.signature: Field required',
    ),

  'thinking is unchanged': body =>
    firstFault(thoughtsOf(body), block => {
      if (block.type === 'redacted_thinking' || text(block.signature) === '') return null
      return block.signature === signatureOf(text(block.thinking))
        ? null
        : 'messages: Invalid `signature` in `thinking` block'
    }),

  'thinking comes first where it is enabled': body =>
    firstFault(latest(body), ({ message, at }) => {
      const blocks = blocksOf(message)
      const isOff = item(body.thinking).type !== 'enabled' || !blocks.some(block => block.type === 'tool_use')
      return isOff || /thinking$/.test(text(blocks[0]?.type))
        ? null
        : `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${text(blocks[0]?.type)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`
    }),

  'thinking stands before its calls': body =>
    firstFault(latest(body), ({ message, at }) => {
      const blocks = blocksOf(message)
      return firstFault(blocks, (block, n) => {
        const mark = block.type === 'tool_use' ? markOf('toolu', text(block.id)) : null
        const before = blocks.slice(0, n).filter(one => one.type === 'thinking')
        return mark === null || before.some(one => thoughtMark(text(one.thinking)) === mark)
          ? null
          : `messages.${at}.content.${n}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`
      })
    }),
}

/** The assistant's messages since the last user message: there thinking must accompany its calls. */
function latest(body: Item): readonly { readonly message: Item; readonly at: number }[] {
  const messages = items(body.messages)
  const spoke = messages.findLastIndex(
    message => message.role === 'user' && !blocksOf(message).some(block => block.type === 'tool_result'),
  )
  return messages.map((message, at) => ({ message, at })).filter(({ at }) => at > spoke)
}

function blocksOf(message: Item | undefined): readonly Item[] {
  return items(message?.content)
}

function all(body: Item): readonly Item[] {
  return items(body.messages).flatMap(blocksOf)
}

function textsOf(body: Item): readonly Item[] {
  const inside = items(body.messages)
    .flatMap(resultsOf)
    .flatMap(result => items(result.content))
  return [...all(body), ...inside].filter(block => block.type === 'text')
}

function callsOf(body: Item): readonly Item[] {
  return all(body).filter(block => block.type === 'tool_use')
}

function resultsOf(message: Item): readonly Item[] {
  return blocksOf(message).filter(block => block.type === 'tool_result')
}

function imagesOf(body: Item): readonly Item[] {
  const inside = items(body.messages)
    .flatMap(resultsOf)
    .flatMap(result => items(result.content))
  return [...all(body), ...inside].filter(block => block.type === 'image')
}

function thoughtsOf(body: Item): readonly Item[] {
  return all(body).filter(block => block.type === 'thinking' || block.type === 'redacted_thinking')
}
