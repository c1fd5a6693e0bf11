import type { CallKind } from '../../core/approval.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { AgentTool, ApprovalCheck, ToolContext } from './tool.ts'
import { resultOf } from './tool-result.ts'

/** A tool of ours. Its input is described by a few functions here and not by zod, which takes longer to load
 *  than the rest of an agent. */
export interface OwnTool<Fields extends OwnFields> {
  readonly description: string
  readonly input: Fields
  readonly repeatable: boolean
  readonly readOnly: boolean
  readonly kind?: CallKind
  readonly needsApproval?: boolean | ApprovalCheck<InputOf<Fields>>
  readonly run: (input: InputOf<Fields>, context: ToolContext) => unknown
}

/** The fields of an input, in the order of its JSON schema. */
export type OwnFields = Readonly<Record<string, Field<Json | undefined>>>

/** What the fields of an input contain. */
export type InputOf<Fields extends OwnFields> = {
  readonly [Name in keyof Fields]: Fields[Name] extends Field<infer Value> ? Value : never
}

/** A field of an input. */
export interface Field<Value> {
  readonly schema: JsonObject
  /** What takes the place of a missing value. */
  readonly absent: Value | undefined
  /** Whether the model must give a value. */
  readonly required: boolean
  /** What is wrong with a value, or null. */
  problem(value: Json): string | null
}

/** A tool from its fields. */
export function ownTool<Fields extends OwnFields>(tool: OwnTool<Fields>): AgentTool {
  const { description, input, repeatable, readOnly, kind, needsApproval, run } = tool
  return {
    description,
    ...ownInput(input),
    repeatable,
    readOnly,
    ...(kind !== undefined && { kind }),
    ...(needsApproval !== undefined && {
      needsApproval:
        typeof needsApproval === 'boolean'
          ? needsApproval
          : (given, context) => needsApproval(readInput(input, given), context),
    }),
    run: async (given, context) => resultOf(await run(readInput(input, given), context)),
  }
}

/** The parts of a tool that follow from its fields. */
export function ownInput(fields: OwnFields): Pick<AgentTool, 'schema' | 'check'> {
  const named = Object.entries(fields)
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries(named.map(([name, { schema }]) => [name, schema])),
      required: named.filter(([, { required }]) => required).map(([name]) => name),
    },
    check(input) {
      if (!isObject(input)) return `✖ expected an object, received ${kindOf(input)}`
      const problems = named.flatMap(([name, { required, problem }]) => {
        const value = input[name]
        const found = value === undefined ? (required ? 'is missing' : null) : problem(value)
        return found === null ? [] : `✖ ${name}: ${found}`
      })
      return problems.length === 0 ? null : problems.join('\n')
    },
  }
}

/** The fields of an input that `check` has accepted. */
export function readInput<Fields extends OwnFields>(fields: Fields, input: Json): InputOf<Fields> {
  const given = input as JsonObject
  const read = Object.entries(fields).map(([name, { absent }]) => [name, given[name] ?? absent])
  return Object.fromEntries(read) as InputOf<Fields>
}

interface TextOptions {
  readonly min?: number
  readonly about?: string
}

/** A text that the model must give. */
export function textField({ min = 0, about }: TextOptions = {}): Field<string> {
  return {
    schema: { ...description(about), type: 'string', ...(min > 0 && { minLength: min }) },
    absent: undefined,
    required: true,
    problem(value) {
      if (typeof value !== 'string') return `expected a string, received ${kindOf(value)}`
      return value.length < min ? `expected at least ${min} characters` : null
    },
  }
}

interface WholeOptions {
  readonly min: number
  readonly max?: number
  readonly about?: string
}

/** A whole number with a default. */
export function wholeField(byDefault: number, options: WholeOptions): Field<number> {
  const { schema, problem } = wholeOf(options)
  return { schema: { default: byDefault, ...schema }, absent: byDefault, required: false, problem }
}

/** A text that may be missing. */
export function optionalText(options: TextOptions = {}): Field<string | undefined> {
  return { ...textField(options), required: false }
}

/** A whole number that may be missing. */
export function optionalWhole(options: WholeOptions): Field<number | undefined> {
  return { ...wholeOf(options), absent: undefined, required: false }
}

function wholeOf({ min, max = Number.MAX_SAFE_INTEGER, about }: WholeOptions) {
  return {
    schema: { ...description(about), type: 'integer', minimum: min, maximum: max },
    problem(value: Json) {
      if (typeof value !== 'number') return `expected a number, received ${kindOf(value)}`
      if (!Number.isInteger(value)) return 'expected a whole number'
      return value < min || value > max ? `expected ${min} to ${max}` : null
    },
  }
}

/** One of some words; the first is the default. */
export function choiceField<const Word extends string>(...words: readonly [Word, ...Word[]]): Field<Word> {
  return {
    schema: { default: words[0], type: 'string', enum: [...words] },
    absent: words[0],
    required: false,
    problem: value =>
      words.some(word => word === value) ? null : `expected ${words.map(word => `"${word}"`).join(' or ')}`,
  }
}

function description(about: string | undefined): JsonObject {
  return about === undefined ? {} : { description: about }
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function kindOf(value: Json): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
}
