import { type Item, item, items, text } from './json.ts'
import { markOf, signatureOf, thoughtMark } from './reply.ts'
import { firstFault, isBlank, type Rules, twice } from './rule.ts'

const name = /^[a-zA-Z0-9_-]{1,64}$/

/** OpenAI's rules for `/v1/responses`, in its own words. */
export const openaiRules: Rules = {
  'there is an input': body =>
    (typeof body.input === 'string' && body.input !== '') || items(body.input).length > 0
      ? null
      : "Missing required parameter: 'input'.",

  'items are of known kinds': body =>
    firstFault(items(body.input), (entry, at) =>
      /^(message|function_call|function_call_output|reasoning|item_reference)$/.test(
        text(entry.type) || 'message',
      )
        ? null
        : `Invalid value: '${text(entry.type)}'. (input[${at}].type)`,
    ),

  'no text is empty': body =>
    firstFault(messagesOf(body), ({ content, role }) => {
      const texts = typeof content === 'string' ? [content] : items(content).flatMap(textOf)
      const empty = texts.some(isBlank) || (texts.length === 0 && items(content).length === 0)
      return empty ? `Invalid 'input': the content of a ${text(role)} message must not be empty.` : null
    }),

  'calls are in JSON': body => firstFault(typed(body, 'function_call'), call => jsonFault(call.arguments)),

  'calls have names': body =>
    firstFault(typed(body, 'function_call'), (call, at) =>
      name.test(text(call.name)) ? null : nameFault(`input[${at}].name`),
    ),

  'ids of calls are short': body =>
    firstFault([...typed(body, 'function_call'), ...typed(body, 'function_call_output')], (entry, at) =>
      text(entry.call_id).length <= 64 ? null : idFault(`input[${at}].call_id`, 64, text(entry.call_id)),
    ),

  'ids of calls are unique': body => {
    const id = twice(typed(body, 'function_call').map(call => text(call.call_id)))
    return id === undefined ? null : `Duplicate function call with call_id ${id}.`
  },

  'every call has an output': body =>
    firstFault(typed(body, 'function_call'), ({ call_id: id }) =>
      typed(body, 'function_call_output').some(output => output.call_id === id)
        ? null
        : `No tool output found for function call ${text(id)}.`,
    ),

  'every output has a call before it': body =>
    firstFault(items(body.input), (entry, at) => {
      if (entry.type !== 'function_call_output') return null
      const called = items(body.input).slice(0, at)
      return called.some(one => one.type === 'function_call' && one.call_id === entry.call_id)
        ? null
        : `No tool call found for function call output with call_id ${text(entry.call_id)}.`
    }),

  'a call has one output': body => {
    const id = twice(typed(body, 'function_call_output').map(output => text(output.call_id)))
    return id === undefined ? null : `Duplicate function call output with call_id ${id}.`
  },

  'nothing is kept by the provider': body =>
    firstFault(items(body.input), entry =>
      entry.type === 'item_reference'
        ? `Item with id '${text(entry.id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
        : null,
    ),

  'reasoning is encrypted': body =>
    firstFault(typed(body, 'reasoning'), entry =>
      text(entry.encrypted_content) !== ''
        ? null
        : `Item with id '${text(entry.id)}' not found. Items are not persisted when \`store\` is set to false.`,
    ),

  'reasoning is unchanged': body =>
    firstFault(typed(body, 'reasoning'), entry => {
      const thought = items(entry.summary)
        .map(part => text(part.text))
        .join('')
      const given = text(entry.encrypted_content)
      return given === '' || given === signatureOf(thought)
        ? null
        : `The encrypted content ${given.slice(0, 8)}... could not be verified. Reason: Encrypted content could not be decrypted or parsed.`
    }),

  'reasoning is followed by what it led to': body =>
    firstFault(items(body.input), (entry, at) => {
      const next = items(body.input)[at + 1]
      const leads = next?.type === 'function_call' || next?.type === 'reasoning' || next?.role === 'assistant'
      return entry.type !== 'reasoning' || leads
        ? null
        : `Item '${text(entry.id)}' of type 'reasoning' was provided without its required following item.`
    }),

  'calls stand with their reasoning': body =>
    firstFault(items(body.input), (entry, at) => {
      const mark = entry.type === 'function_call' ? markOf('call', text(entry.call_id)) : null
      const before = items(body.input)
        .slice(0, at)
        .filter(one => one.type === 'reasoning')
      const isThere = before.some(one =>
        items(one.summary).some(part => thoughtMark(text(part.text)) === mark),
      )
      const isCurrent = items(body.input)
        .slice(at)
        .every(one => one.role !== 'user')
      return mark === null || isThere || !isCurrent
        ? null
        : `Item '${text(entry.id)}' of type 'function_call' was provided without its required 'reasoning' item.`
    }),

  'tools have names': body =>
    firstFault(items(body.tools), (tool, at) =>
      name.test(text(tool.name)) ? null : nameFault(`tools[${at}].name`),
    ),
}

/** OpenAI's rules for `/v1/chat/completions`, and those of compatible servers. */
export const chatRules: Rules = {
  'there is a message': body =>
    items(body.messages).length > 0
      ? null
      : "Invalid 'messages': empty array. Expected an array with minimum length 1.",

  'roles are known': body =>
    firstFault(items(body.messages), ({ role }, at) =>
      /^(system|developer|user|assistant|tool)$/.test(text(role))
        ? null
        : `Invalid value: '${text(role)}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'. (messages[${at}].role)`,
    ),

  'no text is empty': body =>
    firstFault(items(body.messages), ({ role, content, tool_calls: calls }, at) => {
      if (role === 'tool' || (role === 'assistant' && items(calls).length > 0 && !Array.isArray(content)))
        return null
      const texts = typeof content === 'string' ? [content] : items(content).flatMap(textOf)
      const empty = texts.some(isBlank) || (texts.length === 0 && items(content).length === 0)
      return empty ? `Invalid value for 'messages[${at}].content': expected a non-empty string.` : null
    }),

  'calls are in JSON': body => firstFault(chatCalls(body), call => jsonFault(item(call.function).arguments)),

  'calls have names': body =>
    firstFault(chatCalls(body), (call, at) =>
      name.test(text(item(call.function).name))
        ? null
        : nameFault(`messages.tool_calls[${at}].function.name`),
    ),

  'ids of calls are short': body =>
    firstFault(chatCalls(body), (call, at) =>
      text(call.id).length <= 40 && text(call.id) !== ''
        ? null
        : idFault(`messages.tool_calls[${at}].id`, 40, text(call.id)),
    ),

  'every call is answered at once': body =>
    firstFault(items(body.messages), (message, at) => {
      const rest = items(body.messages).slice(at + 1)
      const end = rest.findIndex(next => next.role !== 'tool')
      const answered = rest.slice(0, end === -1 ? rest.length : end).map(next => text(next.tool_call_id))
      const open = items(message.tool_calls)
        .map(call => text(call.id))
        .filter(id => !answered.includes(id))
      return open.length === 0
        ? null
        : `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(', ')}`
    }),

  'every answer has a call': body =>
    firstFault(items(body.messages), (message, at) => {
      if (message.role !== 'tool') return null
      const before = items(body.messages)
        .slice(0, at)
        .findLast(one => one.role !== 'tool')
      const called = items(before?.tool_calls).map(call => text(call.id))
      return called.includes(text(message.tool_call_id))
        ? null
        : "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
    }),

  'tools have names': body =>
    firstFault(items(body.tools), (tool, at) =>
      name.test(text(item(tool.function).name)) ? null : nameFault(`tools[${at}].function.name`),
    ),
}

function messagesOf(body: Item): readonly Item[] {
  return items(body.input).filter(entry => entry.role !== undefined)
}

function typed(body: Item, type: string): readonly Item[] {
  return items(body.input).filter(entry => entry.type === type)
}

function chatCalls(body: Item): readonly Item[] {
  return items(body.messages).flatMap(message => items(message.tool_calls))
}

function textOf(part: Item): readonly unknown[] {
  return /text$/.test(text(part.type)) ? [part.text] : []
}

function jsonFault(value: unknown): string | null {
  try {
    const parsed: unknown = JSON.parse(text(value))
    return typeof parsed === 'object' && parsed !== null ? null : 'Invalid arguments: expected a JSON object.'
  } catch {
    return 'Invalid arguments: expected a string of JSON.'
  }
}

function nameFault(where: string): string {
  return `Invalid '${where}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
}

function idFault(where: string, most: number, id: string): string {
  return `Invalid '${where}': string too long. Expected a string with maximum length ${most}, but got a string with length ${id.length} instead.`
}
