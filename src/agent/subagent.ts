import { checkName, checkObject } from '../core/check.ts'
import type { Source } from '../core/source.ts'
import { systemRecorderSource } from '../system/source.ts'
import { createAgent } from './agent.ts'
import type { AgentOptions } from './options.ts'
import { runSubagent } from './run-subagent.ts'
import { ownInput, readInput, textField } from './tools/own-tool.ts'
import type { AgentTool, ToolOutcome } from './tools/tool.ts'

/** An agent that is a tool of another one. */
export interface SubagentOptions extends Omit<AgentOptions, 'history' | 'recall'> {
  /** Its name in labels. */
  readonly name: string
  /** What it does, in a text for the model that calls it. */
  readonly description: string
}

const input = {
  task: /* @__PURE__ */ textField({
    min: 1,
    about: 'What is to be done, with all that has to be known for it',
  }),
}

/** A tool that gives a task to another agent. With a store, each run is a conversation of its own: of kind
 *  `subagent`, labelled `subagent:<name>:<run id>`, and linked to the message with the call. Its usage is
 *  stored there, and is part of the reply of the calling agent, but not of that agent's stored totals.
 *  Without an `approve` of its own, the calling agent's decides about its calls.
 *
 * @example
 * ```ts
 * import { openStore } from 'skein'
 * import { createAgent, subagent } from 'skein/agent'
 * import { scripted } from 'skein/models'
 *
 * await using store = await openStore(':memory:')
 * const reader = subagent({
 *   name: 'reader',
 *   description: 'Reads long texts',
 *   model: scripted({ script: ['It is about a whale.'] }),
 *   store,
 * })
 * const script = [{ calls: [{ name: 'reader', input: { task: 'Read Moby Dick' } }] }, 'A whale.']
 * await using agent = createAgent({ store, model: scripted({ script }), tools: { reader } })
 * await agent.ask('books', 'What is Moby Dick about?')
 *
 * const { items } = await store.listConversations({ kind: 'subagent' })
 * console.log(items[0]?.label) // subagent:reader:…
 * ```
 */
export function subagent(
  options: SubagentOptions,
  source: Pick<Source, 'uuid'> = systemRecorderSource,
): AgentTool {
  checkObject(options, 'options')
  const { name, description, store, ...own } = options
  checkName(name, 'name')
  const agent = createAgent({ ...own, ...(store && { store }) })
  return {
    description,
    ...ownInput(input),
    repeatable: false,
    // Its own tools ask.
    needsApproval: false,
    async run(given, { conversationId, messageId, signal, approve, emit }): Promise<ToolOutcome> {
      const { task } = readInput(input, given)
      const runId = source.uuid()
      const ended = await runSubagent(agent, {
        name,
        runId,
        task,
        store: store ?? null,
        parent: conversationId === null ? null : { conversationId, messageId },
        signal,
        ...(approve && !options.approve && { approve }),
        onEvent: (event, run) => emit({ type: 'subagent', name, conversationId: run, event }),
      })
      signal.throwIfAborted()
      const { reply, failure, usage } = ended
      const trace = { subagent: name, run: runId, conversation: ended.conversationId }
      if (reply === null) return { output: `${name} failed: ${failure?.error}`, isError: true, usage, trace }
      return { output: reply.text, usage, trace }
    },
  }
}
