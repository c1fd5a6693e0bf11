import type { Reply } from '../../test/support/models/reply.ts'
import type { SeenRequest } from '../../test/support/models/server.ts'
import { offeredIn } from './shell-call.ts'

/** The words that another agent was told. */
export const secret = 'SECRET-heron-41'

/** The name of the question about them: `MARK-find`. */
export const findName = 'find'

/** The MCP server as the agent knows it. */
export const serverName = 'skein'

const tool = 'search_conversations'
const input = { query: 'launch word' }

/** A model that looks for the words with `skein mcp`: first the agent's search for tools, if tools are behind
 *  one, then the tool, then the answer from its result. */
export function recallReply(request: SeenRequest, asked: number): Reply {
  const results = request.messages.slice(asked).flatMap(message => message.results)
  const found = results.map(({ output }) => /SECRET-[\w-]+/.exec(output)?.[0]).find(Boolean)
  if (found) return `It was ${found}.`
  if (results.length > 2) return 'I did not find it.'
  const call = recallCall(request, results.length)
  return call ? { parts: [{ call }] } : 'I have no such tool.'
}

interface RecallCall {
  readonly name: string
  readonly namespace?: string
  readonly input: unknown
}

function recallCall(request: SeenRequest, calls: number): RecallCall | null {
  const offered = offeredIn(request.body)
  const direct = offered.find(({ name }) => name.endsWith(tool))
  if (direct) {
    const { name, namespace } = direct
    return { name, input, ...(namespace === undefined ? {} : { namespace }) }
  }
  const finder = offered.find(({ name }) => /^tool_?search$/i.test(name))
  if (!finder) return null
  const name = `mcp__${serverName}__${tool}`
  if (calls === 0) return { name: finder.name, input: { query: `select:${name}`, max_results: 5 } }
  return offered.some(one => one.name === 'tool_call')
    ? { name: 'tool_call', input: { name, arguments: input } }
    : { name, input }
}
