import type { ZodError } from 'zod'

/** A problem that zod has found. */
export type Issue = ZodError['issues'][number]

/** What is wrong with a value, in plain English, as the rest of a sentence that begins with the field.
 *  Messages of our own schemas stay as they are. */
export function plainProblem(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return isAbsent(issue) ? 'is required' : `must be ${nameOf(issue.expected)}`
    case 'invalid_value':
      return isAbsent(issue) && issue.values.length === 1 ? 'is required' : `must be ${listOf(issue.values)}`
    case 'too_small':
      return limitText('at least', 'more than', issue, issue.minimum)
    case 'too_big':
      return limitText('at most', 'less than', issue, issue.maximum)
    case 'invalid_format':
      return `must be ${formats[issue.format] ?? 'in the documented form'}`
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'invalid_union':
      return 'has none of the forms that are allowed here'
    case 'unrecognized_keys':
      return 'is not a field here'
    case 'invalid_key':
    case 'invalid_element':
      return 'has a member that is not allowed here'
    case 'custom':
      return issue.message === '' ? 'is invalid' : lowerCase(issue.message)
  }
}

/** Zod says only in its message that a value is absent. */
function isAbsent({ message }: Issue): boolean {
  return /received undefined$/.test(message)
}

const types: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
  date: 'a time',
  nan: 'a number',
}

function nameOf(type: string): string {
  return types[type] ?? `of the type ${type}`
}

const formats: Readonly<Record<string, string>> = {
  datetime: 'a time such as 2026-01-31T12:00:00Z',
  date: 'a date such as 2026-01-31',
  uuid: 'a UUID',
  url: 'a URL',
  email: 'an e-mail address',
  base64: 'Base64',
}

/** `"a", "b" or "c"`. */
function listOf(values: readonly unknown[]): string {
  const quoted = values.map(value => JSON.stringify(value))
  if (quoted.length < 2) return quoted.join('')
  return `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}

const units: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
  set: ['item', 'items'],
}

function limitText(
  inclusive: string,
  exclusive: string,
  issue: { readonly origin: string; readonly inclusive?: boolean | undefined },
  limit: number | bigint,
): string {
  const amount = `${issue.inclusive === false ? exclusive : inclusive} ${limit}`
  const unit = units[issue.origin]
  return unit ? `must have ${amount} ${Number(limit) === 1 ? unit[0] : unit[1]}` : `must be ${amount}`
}

function lowerCase(message: string): string {
  return message[0]!.toLowerCase() + message.slice(1)
}
