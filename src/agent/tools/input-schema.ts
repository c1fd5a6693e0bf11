import { InvalidError } from '../../core/errors.ts'
import { isPlainObject, type Json, type JsonObject } from '../../core/json.ts'

/** A schema of any library that implements Standard Schema: zod 3.25 and 4, valibot, arktype and others. It
 *  is recognised by its structure, so the application's version of the library need not be ours. */
export interface StandardSchema<Output = unknown> {
  /** The interface of the standard. */
  readonly '~standard': {
    /** The version of the standard. */
    readonly version: 1
    /** The name of the library, such as `zod`. */
    readonly vendor: string
    /** Checks a value, and converts it if the schema does. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    /** The types of the schema. Exists only for the compiler. */
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

/** The result of a check: a value, or issues. */
export type SchemaResult<Output> =
  | {
      /** The value, converted if the schema converts it. */
      readonly value: Output
      /** Absent: the value is valid. */
      readonly issues?: undefined
    }
  | {
      /** The problems of the value, at least one. */
      readonly issues: readonly SchemaIssue[]
    }

/** A problem of a value. */
export interface SchemaIssue {
  /** The problem as a sentence. */
  readonly message: string
  /** The place in the value, from the outside inwards. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The input of a tool, as the agent uses it. */
export interface ToolInput<Input> {
  /** The JSON schema for the model. */
  readonly schema: JsonObject | PromiseLike<JsonObject>
  /** The input as the tool gets it, or the problem as a text for the model. */
  parse(input: Json): Promise<{ readonly value: Input } | { readonly problem: string }>
}

/** Reads the `input` of a tool definition: a Standard Schema or a JSON schema. `jsonSchema` is the JSON
 *  schema of a Standard Schema whose library cannot convert it. Throws InvalidError if there is none, or if
 *  it does not describe an object. */
export function readInputSchema<Input>(
  input: StandardSchema<Input> | JsonObject,
  jsonSchema?: JsonObject,
): ToolInput<Input> {
  if (isStandardSchema(input)) {
    return {
      schema: jsonSchema === undefined ? convert(input) : ofObject(jsonSchema),
      parse: value => parseWith(input, value),
    }
  }
  if (!isPlainObject(input))
    throw new InvalidError('input', 'must be a schema of zod or another Standard Schema, or a JSON schema')
  const schema = ofObject(input)
  const validator = once(() => validatorOf(schema))
  return {
    schema,
    parse: async value => {
      const found = await validator()
      if (found !== null) return parseWith(found as StandardSchema<Input>, value)
      return isPlainObject(value)
        ? { value: value as Input }
        : { problem: '✖ Invalid input: expected an object' }
    },
  }
}

/** The problem of an input as a text for the model; null if it is valid. */
export async function problemOfInput(input: ToolInput<unknown>, given: Json): Promise<string | null> {
  const parsed = await input.parse(given)
  return 'problem' in parsed ? parsed.problem : null
}

/** The input as the tool gets it. Throws InvalidError if the schema refuses it. */
export async function valueOfInput<Input>(input: ToolInput<Input>, given: Json): Promise<Input> {
  const parsed = await input.parse(given)
  if ('problem' in parsed) throw new InvalidError('input', parsed.problem)
  return parsed.value
}

/** Whether a value implements Standard Schema. Schemas of arktype are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false
  const standard = (value as Partial<StandardSchema>)['~standard']
  return typeof standard?.validate === 'function'
}

async function parseWith<Input>(schema: StandardSchema<Input>, value: Json) {
  const result = await schema['~standard'].validate(value)
  return result.issues === undefined ? { value: result.value } : { problem: problemText(result.issues) }
}

function problemText(issues: readonly SchemaIssue[]): string {
  return issues
    .map(({ message, path = [] }) => {
      const place = path.map(part => String(typeof part === 'object' ? part.key : part)).join('.')
      return place === '' ? `✖ ${message}` : `✖ ${message}\n  → at ${place}`
    })
    .join('\n')
}

/** What libraries add to the standard: a converter, or the marks of zod. */
interface Convertible extends StandardSchema {
  readonly '~standard': StandardSchema['~standard'] & {
    readonly jsonSchema?: { input(options: { readonly target: string }): Record<string, unknown> }
  }
  readonly toJSONSchema?: (options: { readonly io: 'input' }) => unknown
  readonly _zod?: unknown
  readonly _def?: { readonly typeName?: unknown }
}

/** The JSON schema of a Standard Schema. A library without a converter of its own is converted lazily, since
 *  the converters take long to load. */
function convert(schema: Convertible): JsonObject | PromiseLike<JsonObject> {
  const { vendor, jsonSchema } = schema['~standard']
  if (typeof schema.toJSONSchema === 'function' && vendor === 'zod')
    return ofObject(schema.toJSONSchema({ io: 'input' }))
  if (jsonSchema !== undefined) return ofObject(jsonSchema.input({ target: 'draft-07' }))
  if (vendor === 'zod' && schema._zod !== undefined) return later(() => convertZod4(schema))
  if (vendor === 'zod' && schema._def?.typeName !== undefined) return later(() => convertZod3(schema))
  throw new InvalidError('input', `${vendor} gives no JSON schema: add one as \`jsonSchema\``)
}

/** Schemas of zod 4.0 and 4.1 have no converter, and keep descriptions in the registry of their own copy of
 *  zod, which only `meta()` reads. */
async function convertZod4(schema: unknown): Promise<JsonObject> {
  const { toJSONSchema } = await import('zod')
  const metadata = { get: (part: { meta?: () => object | undefined }) => part.meta?.() ?? {} }
  const options = { io: 'input', metadata } as unknown as Parameters<typeof toJSONSchema>[1]
  return ofObject(toJSONSchema(schema as Parameters<typeof toJSONSchema>[0], options))
}

async function convertZod3(schema: unknown): Promise<JsonObject> {
  const { zodToJsonSchema } = await import('zod-to-json-schema')
  const options = { $refStrategy: 'none', pipeStrategy: 'input' } as const
  return ofObject(zodToJsonSchema(schema as Parameters<typeof zodToJsonSchema>[0], options))
}

/** Checks values against a JSON schema. Null if zod cannot express the schema: then only the type is
 *  checked, and the tool gets what the model sends. */
async function validatorOf(schema: JsonObject): Promise<StandardSchema | null> {
  const { fromJSONSchema } = await import('zod')
  try {
    return fromJSONSchema(schema as Parameters<typeof fromJSONSchema>[0])
  } catch {
    return null
  }
}

function ofObject(schema: unknown): JsonObject {
  const { $schema: _, ...rest } = schema as JsonObject
  if (rest.type !== 'object') throw new InvalidError('input', 'the input of a tool must be an object')
  return rest
}

/** A promise whose work begins when it is first awaited. */
function later<T>(work: () => Promise<T>): PromiseLike<T> {
  const start = once(work)
  // biome-ignore lint/suspicious/noThenProperty: it is awaited like a promise, but does nothing before that
  return { then: (resolve, reject) => start().then(resolve, reject) }
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | null = null
  return () => {
    result ??= work()
    return result
  }
}
