import type { ToolContext, Tools } from '../../agent/tools/tool.ts'
import type { Json } from '../../core/json.ts'

/** A call that is about to be run. */
export interface AskedCall extends Pick<ToolContext, 'callId' | 'name' | 'signal' | 'conversationId'> {
  readonly input: Json
}

/** What the model is told of a call that was not allowed, so that it does not just try again. */
const notAllowed = 'The person was asked and did not allow this call. Ask what to do instead.'

/** The same tools, each of which runs only if `may` says so. One that may not is a result that says it. */
export function askFirst(tools: Tools, may: (call: AskedCall) => Promise<boolean>): Tools {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [
      name,
      {
        ...tool,
        async run(input, context) {
          if (await may({ ...context, input })) return tool.run(input, context)
          return { output: notAllowed, isError: true, trace: { permission: 'rejected' } }
        },
      } satisfies Tools[string],
    ]),
  )
}
