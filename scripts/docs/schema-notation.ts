/** The part of JSON Schema that our schemas use. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  /** Set for a type that is printed in full elsewhere. */
  readonly title?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly items?: JsonSchema
  readonly prefixItems?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema | boolean
  readonly description?: string
}

/** A schema in TypeScript notation, with the description of each field after it. A reference is the name of
 *  the schema that it refers to. */
export function typeText(schema: JsonSchema, indent = ''): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
  if (schema.const !== undefined) return quoted(schema.const)
  if (schema.enum) return schema.enum.map(quoted).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map(one => typeText(one, indent)))].join(' | ')
  const types = [schema.type ?? 'unknown'].flat()
  const orNull = types.length > 1 && types.includes('null') ? ' | null' : ''
  if (schema.prefixItems)
    return `[${schema.prefixItems.map(one => typeText(one, indent)).join(', ')}]${orNull}`
  if (schema.items) {
    const items = typeText(schema.items, indent)
    const isUnion = schema.items.anyOf || schema.items.enum || Array.isArray(schema.items.type)
    return `${isUnion ? `(${items})` : items}[]${orNull}`
  }
  if (schema.properties) return objectText(schema, indent) + orNull
  if (types.includes('object')) {
    const { additionalProperties: members } = schema
    return `{ [name: string]: ${typeText(typeof members === 'object' ? members : {}, indent)} }${orNull}`
  }
  return types.map(type => (type === 'integer' ? 'number' : type)).join(' | ')
}

function quoted(value: unknown): string {
  return value === null ? 'null' : JSON.stringify(value).replaceAll('"', "'")
}

function objectText({ properties = {}, required = [] }: JsonSchema, indent: string): string {
  const inner = `${indent}  `
  const fields = Object.entries(properties).map(([name, schema]) => {
    const said = schema.description ?? schema.anyOf?.find(one => one.description)?.description
    const type = schema.title ?? typeText(schema, inner)
    const optional = required.includes(name) ? '' : '?'
    return { text: `${name}${optional}: ${type}`, said: said && said !== 'full id' ? said : null }
  })
  const isShort = fields.every(({ text, said }) => said === null && !text.includes('\n'))
  const line = `{ ${fields.map(({ text }) => text).join('; ')} }`
  if (isShort && indent.length + line.length <= 100) return line
  const lines = fields.map(({ text, said }) => {
    if (said === null) return `${inner}${text}`
    const isLong = text.includes('\n') || inner.length + text.length + said.length > 110
    return isLong ? `${inner}// ${said}\n${inner}${text}` : `${inner}${text}  // ${said}`
  })
  return `{\n${lines.join('\n')}\n${indent}}`
}
