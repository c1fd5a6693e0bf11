import { createRequire } from 'node:module'
import { type ZodType, z } from 'zod'

type Definition = Readonly<Record<string, unknown>>

const published = createRequire(import.meta.url)(
  '@agentclientprotocol/sdk/schema/v1/schema.unstable.json',
) as { readonly $schema: string; readonly $defs: Readonly<Record<string, Definition>> }

const { $schema } = published
const $defs = withoutFallbacks(published.$defs) as typeof published.$defs

/** Drops the alternatives for values that the schema does not know ("not one of …"): a known update with
 *  wrong content would pass as an unknown one. */
function withoutFallbacks(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter(one => !isFallback(one)).map(withoutFallbacks)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withoutFallbacks(part)]))
}

function isFallback(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'not' in value
}

const checks = new Map<string, ZodType>()

/** The definition of a message of the agent: the result of a method of the agent, or the parameters of a
 *  method of the client. */
function nameOf(method: string, part: 'result' | 'params'): string | undefined {
  const side = part === 'result' ? 'agent' : 'client'
  const ending = part === 'result' ? /Response$/ : /(Request|Notification)$/
  return Object.keys($defs).find(
    name => ending.test(name) && $defs[name]!['x-method'] === method && $defs[name]!['x-side'] === side,
  )
}

/** What is wrong with a message, by the schema of the protocol; null if it fits, or if its method is not part
 *  of the protocol. */
export function schemaProblem(method: string, part: 'result' | 'params', value: unknown): string | null {
  const name = nameOf(method, part)
  if (name === undefined) return null
  const check = checks.get(name) ?? z.fromJSONSchema({ $schema, $ref: `#/$defs/${name}`, $defs } as never)
  checks.set(name, check)
  const parsed = check.safeParse(value ?? {})
  return parsed.success ? null : `${method}: ${z.prettifyError(parsed.error).slice(0, 500)}`
}

/** Fields at the root of a message that its definition does not have. */
export function unknownFields(method: string, part: 'result' | 'params', value: unknown): readonly string[] {
  const name = nameOf(method, part)
  if (name === undefined || typeof value !== 'object' || value === null) return []
  const known = fieldsOf({ $ref: `#/$defs/${name}` })
  return Object.keys(value).filter(field => field !== '_meta' && !known.has(field))
}

function fieldsOf(definition: Definition): ReadonlySet<string> {
  const {
    $ref,
    properties = {},
    allOf = [],
    anyOf = [],
    oneOf = [],
  } = definition as {
    readonly $ref?: string
    readonly properties?: object
    readonly [name: string]: unknown
  }
  const parts = [...(allOf as Definition[]), ...(anyOf as Definition[]), ...(oneOf as Definition[])]
  const referred = $ref === undefined ? [] : [$defs[$ref.replace('#/$defs/', '')] ?? {}]
  const deeper = [...parts, ...referred].flatMap(part => [...fieldsOf(part)])
  return new Set([...Object.keys(properties), ...deeper])
}
