import type { SeenRequest } from '../../test/support/models/server.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
}

interface OfferedTool {
  readonly name: string
  /** Codex puts the tools of an MCP server into one. */
  readonly namespace?: string
  readonly schema: Schema
}

/** Names of shells, as agents offer them to their models. */
const shells =
  /^(?:developer__)?(?:bash|shell|exec|run_shell|execute_command|run_command|run_commands|terminal)/i

/** A call of the agent's own shell with this command, whatever the agent calls it. Null if it offers none. */
export function shellCall(request: SeenRequest, line: string): { name: string; input: object } | null {
  const tools = offeredIn(request.body)
  const tool = tools.find(({ name, schema }) => shells.test(name) && commandIn(schema) !== undefined)
  if (!tool) return null
  const command = commandIn(tool.schema)!
  const { properties = {}, required = [] } = tool.schema
  const input = Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]): [string, unknown][] => {
      if (name === command) return [[name, isList(schema) ? listOf(name, line) : line]]
      return required.includes(name) ? [[name, defaultOf(schema)]] : []
    }),
  )
  return { name: tool.name, input }
}

function commandIn({ properties = {} }: Schema): string | undefined {
  return ['command', 'cmd', 'commands'].find(name => name in properties)
}

function isList({ type }: Schema): boolean {
  return type === 'array' || (Array.isArray(type) && type.includes('array') && !type.includes('string'))
}

/** Either the words of one command, or several commands. */
function listOf(name: string, line: string): readonly string[] {
  return name === 'commands' ? [line] : ['bash', '-lc', line]
}

function defaultOf({ type, enum: choices }: Schema): unknown {
  if (choices) return choices[0]
  const [only] = Array.isArray(type) ? type : [type]
  return only === 'boolean' ? false : only === 'array' ? [] : only === 'string' ? 'run it' : 30
}

/** The tools of a request, in any provider's protocol. */
export function offeredIn(body: unknown): readonly OfferedTool[] {
  const { tools = [] } = body as { readonly tools?: readonly Record<string, unknown>[] }
  return tools.flatMap(tool => {
    if (tool.type === 'namespace')
      return offeredIn(tool).map(one => ({ ...one, namespace: String(tool.name) }))
    const declared = (tool.functionDeclarations ?? [tool.function ?? tool]) as readonly Record<
      string,
      unknown
    >[]
    return declared.map(one => ({
      name: String(one.name ?? ''),
      schema: (one.parameters ?? one.input_schema ?? one.parametersJsonSchema ?? {}) as Schema,
    }))
  })
}
