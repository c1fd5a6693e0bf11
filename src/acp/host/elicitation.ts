import type { Json, JsonObject } from '../../core/json.ts'
import { isObject } from '../wire/is-object.ts'

/** A field of a form. */
export interface ElicitationField {
  /** The key of its value in the answer. */
  readonly name: string
  /** For people. Default: its name. */
  readonly title: string
  /** What to enter. Null if the agent does not say. */
  readonly description: string | null
  /** `choices` takes several of the choices, `choice` one of them. */
  readonly type: 'text' | 'number' | 'integer' | 'switch' | 'choice' | 'choices'
  /** The values to choose from. */
  readonly choices: readonly { readonly value: string; readonly name: string }[]
  /** False if it may be left out. */
  readonly isRequired: boolean
  /** The value that is suggested, or null. */
  readonly suggestion: Json
  /** The JSON schema of the field, as the agent wrote it. */
  readonly schema: JsonObject
}

/** A question of an agent to the person: a form, or a page to open in a browser. */
export type ElicitationRequest = {
  /** The agent's session id. Null if the question belongs to no session. */
  readonly sessionId: string | null
  /** The question, for people. */
  readonly message: string
} & (
  | {
      readonly mode: 'form'
      /** What to ask for. */
      readonly fields: readonly ElicitationField[]
    }
  | {
      readonly mode: 'url'
      /** The page that the person should open. */
      readonly url: string
    }
)

/** The answer: `accept` with the values of a form, `decline` if the person says no, `cancel` if the person
 *  leaves the question without an answer. */
export type ElicitationAnswer =
  | {
      /** The person has filled in the form, or opens the page. */
      readonly action: 'accept'
      /** By the names of the fields. Absent for a page. */
      readonly content?: Readonly<Record<string, string | number | boolean | readonly string[]>>
    }
  | {
      /** The person refuses, or leaves without a choice. */
      readonly action: 'decline' | 'cancel'
    }

/** Asks the person. The signal is aborted with the turn. */
export type AskElicitation = (request: ElicitationRequest, signal: AbortSignal) => Promise<ElicitationAnswer>

/** Reads `elicitation/create`. Null for a mode or a field that is not known: it must not be shown as another
 *  one. */
export function parseElicitation(params: JsonObject): ElicitationRequest | null {
  const message = typeof params.message === 'string' ? params.message : ''
  const sessionId = typeof params.sessionId === 'string' ? params.sessionId : null
  if (params.mode === 'url' && typeof params.url === 'string')
    return { mode: 'url', sessionId, message, url: params.url }
  const schema = params.requestedSchema
  if (params.mode !== 'form' || !isObject(schema)) return null
  const required = Array.isArray(schema.required) ? schema.required : []
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : []
  const fields = properties.map(([name, one]) => fieldOf(name, one, required.includes(name)))
  return fields.includes(null)
    ? null
    : { mode: 'form', sessionId, message, fields: fields.filter(field => field !== null) }
}

function fieldOf(name: string, schema: Json, isRequired: boolean): ElicitationField | null {
  if (!isObject(schema)) return null
  const choices = choicesIn(schema.type === 'array' && isObject(schema.items) ? schema.items : schema)
  const type = typeOf(schema.type, choices.length > 0)
  if (type === null) return null
  return {
    name,
    title: typeof schema.title === 'string' && schema.title !== '' ? schema.title : name,
    description: typeof schema.description === 'string' ? schema.description : null,
    type,
    choices,
    isRequired,
    suggestion: schema.default ?? null,
    schema,
  }
}

function typeOf(type: Json | undefined, hasChoices: boolean): ElicitationField['type'] | null {
  switch (type) {
    case 'string':
      return hasChoices ? 'choice' : 'text'
    case 'number':
    case 'integer':
      return type
    case 'boolean':
      return 'switch'
    case 'array':
      return hasChoices ? 'choices' : null
    default:
      return null
  }
}

/** `enum` with optional `enumNames`, or titled choices in `oneOf` or `anyOf`. */
function choicesIn(schema: JsonObject): ElicitationField['choices'] {
  const titled = [schema.oneOf, schema.anyOf].find(Array.isArray) ?? []
  const named = titled
    .filter(isObject)
    .flatMap(({ const: value, title }) =>
      typeof value === 'string' ? [{ value, name: typeof title === 'string' ? title : value }] : [],
    )
  if (named.length > 0) return named
  const names = Array.isArray(schema.enumNames) ? schema.enumNames : []
  const values = Array.isArray(schema.enum) ? schema.enum : []
  return values.flatMap((value, i) =>
    typeof value === 'string' ? [{ value, name: String(names[i] ?? value) }] : [],
  )
}

/** The value of a field that a person has typed. Throws an error for the person. An empty text is the
 *  suggestion, or leaves the field out. */
export function fieldValue(
  field: ElicitationField,
  typed: string,
): string | number | boolean | readonly string[] | undefined {
  const text = typed.trim()
  if (text === '') {
    const { suggestion, isRequired, type } = field
    if (suggestion !== null) return suggestion as string | number | boolean | readonly string[]
    if (type === 'choices' && !isRequired) return undefined
    if (isRequired) throw new Error('an answer is required')
    return undefined
  }
  switch (field.type) {
    case 'text':
      return checkedText(field.schema, typed)
    case 'number':
    case 'integer':
      return checkedNumber(field, text)
    case 'switch':
      if (/^(y|yes|on|true)$/i.test(text)) return true
      if (/^(n|no|off|false)$/i.test(text)) return false
      throw new Error('yes or no')
    case 'choice':
      return chosenIn(field, text)
    case 'choices': {
      const values = text.split(',').map(part => chosenIn(field, part.trim()))
      const { minItems, maxItems } = field.schema
      if (typeof minItems === 'number' && values.length < minItems) throw new Error(`at least ${minItems}`)
      if (typeof maxItems === 'number' && values.length > maxItems) throw new Error(`at most ${maxItems}`)
      return [...new Set(values)]
    }
    default:
      return field.type satisfies never
  }
}

/** By its number in the list, its value or its name. */
function chosenIn({ choices }: ElicitationField, text: string): string {
  const byNumber = /^\d+$/.test(text) ? choices[Number(text) - 1] : undefined
  const lower = text.toLowerCase()
  const found =
    choices.find(({ value }) => value === text) ??
    choices.find(({ value, name }) => [value.toLowerCase(), name.toLowerCase()].includes(lower)) ??
    byNumber
  if (!found) throw new Error(`${text} is not one of the choices`)
  return found.value
}

function checkedText({ minLength, maxLength }: JsonObject, text: string): string {
  if (typeof minLength === 'number' && text.length < minLength)
    throw new Error(`at least ${minLength} characters`)
  if (typeof maxLength === 'number' && text.length > maxLength)
    throw new Error(`at most ${maxLength} characters`)
  return text
}

function checkedNumber({ type, schema }: ElicitationField, text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value)) throw new Error('a number is required')
  if (type === 'integer' && !Number.isSafeInteger(value)) throw new Error('a whole number is required')
  const { minimum, maximum } = schema
  if (typeof minimum === 'number' && value < minimum) throw new Error(`${minimum} or more`)
  if (typeof maximum === 'number' && value > maximum) throw new Error(`${maximum} or less`)
  return value
}
