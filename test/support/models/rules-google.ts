import { type Item, item, items, text } from './json.ts'
import { markOf } from './reply.ts'
import { firstFault, isBlank, type Rules } from './rule.ts'

/** A value that Gemini accepts instead of a signature that it never issued. */
const anySignature = 'skip_thought_signature_validator'

/** Google's rules for `generateContent`, in its own words. */
export const googleRules: Rules = {
  'there is a content': body =>
    items(body.contents).length > 0 ? null : '* GenerateContentRequest.contents: contents is not specified',

  'roles are user and model': body =>
    firstFault(items(body.contents), ({ role }) =>
      role === 'user' || role === 'model' ? null : 'Please use a valid role: user, model.',
    ),

  'the first content is the user’s': body =>
    items(body.contents)[0]?.role === 'model'
      ? 'Please ensure that multiturn requests alternate between user and model, beginning with user.'
      : null,

  'calls come after the user': body =>
    firstFault(items(body.contents), (content, at) =>
      at > 0 && callsOf(content).length > 0 && items(body.contents)[at - 1]?.role === 'model'
        ? 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
        : null,
    ),

  'the last content is the user’s': body =>
    items(body.contents).length > 1 && items(body.contents).at(-1)?.role === 'model'
      ? 'Please ensure that multiturn requests end with a user role or a function response.'
      : null,

  'every content has parts': body =>
    firstFault(items(body.contents), ({ parts }, at) =>
      items(parts).length > 0
        ? null
        : `* GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.`,
    ),

  'no part is empty': body =>
    firstFault(items(body.contents), ({ parts }, at) =>
      items(parts).every(isFilled)
        ? null
        : `* GenerateContentRequest.contents[${at}].parts: required oneof field 'data' must have one initialized field`,
    ),

  'the system prompt is not empty': body =>
    firstFault(items(item(body.systemInstruction).parts), part =>
      isBlank(part.text) ? '* GenerateContentRequest.system_instruction.parts: must not be empty' : null,
    ),

  'calls are answered by as many responses, at once': body =>
    firstFault(items(body.contents), (content, at) => {
      const calls = callsOf(content).length
      const responses = responsesOf(items(body.contents)[at + 1]).length
      return calls === 0 || calls === responses
        ? null
        : 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
    }),

  'responses follow calls': body =>
    firstFault(items(body.contents), (content, at) =>
      responsesOf(content).length === 0 || callsOf(items(body.contents)[at - 1]).length > 0
        ? null
        : 'Please ensure that function response turn comes immediately after a function call turn.',
    ),

  'responses carry the names of their calls': body =>
    firstFault(items(body.contents), (content, at) => {
      const called = callsOf(items(body.contents)[at - 1]).map(call => text(call.name))
      return firstFault(responsesOf(content), ({ name }) =>
        called.length === 0 || called.includes(text(name))
          ? null
          : `Function response \`${text(name)}\` does not answer a function call of the preceding turn.`,
      )
    }),

  'functions have names': body =>
    firstFault(functionNames(body), name =>
      /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(name)
        ? null
        : `Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.`,
    ),

  'signatures are unchanged': body =>
    firstFault(
      items(body.contents).flatMap(content => items(content.parts)),
      part => {
        const signature = text(part.thoughtSignature)
        const isKnown = signature === '' || signature === anySignature || /^sig[0-9a-f]{40}$/.test(signature)
        return isKnown ? null : 'Corrupted thought signature.'
      },
    ),

  'calls carry the signature they came with': body =>
    firstFault(latest(body), content => {
      const parts = items(content.parts).filter(part => part.functionCall !== undefined)
      const first = parts[0]
      const mark = markOf('gemini', text(item(first?.functionCall).id))
      const signature = text(first?.thoughtSignature)
      return mark === null || signature === anySignature || signature.slice(3, 11) === mark
        ? null
        : `Function call \`${text(item(first?.functionCall).name)}\` is missing a \`thought_signature\`.`
    }),
}

function latest(body: Item): readonly Item[] {
  const contents = items(body.contents)
  const spoke = contents.findLastIndex(
    content => content.role === 'user' && responsesOf(content).length === 0,
  )
  return contents.slice(spoke + 1)
}

function callsOf(content: Item | undefined): readonly Item[] {
  return items(content?.parts).flatMap(part =>
    part.functionCall === undefined ? [] : [item(part.functionCall)],
  )
}

function responsesOf(content: Item | undefined): readonly Item[] {
  return items(content?.parts).flatMap(part =>
    part.functionResponse === undefined ? [] : [item(part.functionResponse)],
  )
}

function functionNames(body: Item): readonly string[] {
  const declared = items(body.tools).flatMap(tool => items(tool.functionDeclarations))
  const said = items(body.contents).flatMap(content => [...callsOf(content), ...responsesOf(content)])
  return [...declared, ...said].map(one => text(one.name))
}

function isFilled(part: Item): boolean {
  if ('text' in part) return text(part.text).trim() !== '' || text(part.thoughtSignature) !== ''
  return ['functionCall', 'functionResponse', 'inlineData', 'fileData'].some(
    field => part[field] !== undefined,
  )
}
