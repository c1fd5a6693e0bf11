import type {
  AgentContext,
  PermissionOption,
  RequestPermissionOutcome,
  RequestPermissionRequest,
} from '@agentclientprotocol/sdk/unstable'
import type { ToolContext, Tools } from '../../agent/tools/tool.ts'
import { errorText } from '../../core/error-text.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { TurnWriter } from '../../core/turn-writer.ts'
import { createSerialQueue, unlessAborted } from '../../core/wait.ts'
import { toolKind, toolTitle } from './tool-details.ts'

/** A call that is about to run. */
export interface GuardedCall extends Pick<ToolContext, 'callId' | 'name' | 'signal' | 'conversationId'> {
  readonly input: Json
}

/** The result of a call that was refused, so that the model does not simply retry. */
const notAllowed = 'The person was asked and did not allow this call. Ask what to do instead.'

/** The same tools, each of which runs only if `may` allows it. A refused call has a result that says so. */
export function withPermission(tools: Tools, may: (call: GuardedCall) => Promise<boolean>): Tools {
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

export interface PermissionContext {
  readonly sessionId: string
  readonly store: Pick<TurnWriter, 'addEvents'>
  readonly client: Pick<AgentContext, 'request'>
  /** True if tools run without a permission request. */
  isAuto(): boolean
  /** Resolves when the client has received the call. */
  shown(callId: string): Promise<void>
  /** Called when a call that waited for a permission starts. */
  started(callId: string): Promise<void>
  log(line: string): void
}

/** The permissions of one session. */
export interface ToolPermissions {
  isAllowed(name: string): boolean
  /** Asks the person, unless the answer is known. Request and answer are stored as an event. */
  may(call: GuardedCall): Promise<boolean>
}

export function createToolPermissions(asking: PermissionContext): ToolPermissions {
  const always = new Set<string>()
  const isAllowed = (name: string) => asking.isAuto() || always.has(name)
  const oneByOne = createSerialQueue()
  return {
    isAllowed,
    may(call) {
      // One request at a time: "always" also answers those that wait.
      return oneByOne(async () => {
        if (isAllowed(call.name)) return true
        await unlessAborted(asking.shown(call.callId), call.signal)
        const outcome = await ask(asking, call)
        const chosen = outcome.outcome === 'selected' ? outcome.optionId : null
        if (chosen === 'allow_always') always.add(call.name)
        const isAllowedNow = chosen === 'allow_always' || chosen === 'allow_once'
        if (isAllowedNow) await asking.started(call.callId)
        return isAllowedNow
      })
    },
  }
}

function optionsFor(name: string): PermissionOption[] {
  return [
    { optionId: 'allow_once', kind: 'allow_once', name: 'Allow' },
    { optionId: 'allow_always', kind: 'allow_always', name: `Always allow ${name}` },
    { optionId: 'reject_once', kind: 'reject_once', name: 'Reject' },
  ]
}

async function ask(
  { sessionId, store, client, log }: PermissionContext,
  call: GuardedCall,
): Promise<RequestPermissionOutcome> {
  const { callId: toolCallId, name, input, signal, conversationId } = call
  const toolCall = {
    toolCallId,
    title: toolTitle(name, input),
    name,
    kind: toolKind(name),
    status: 'pending',
    rawInput: input,
  } as const
  const options = optionsFor(name)
  let outcome: RequestPermissionOutcome = { outcome: 'cancelled' }
  try {
    const params: RequestPermissionRequest = { sessionId, toolCall, options }
    // A cancelled prompt needs no answer: the next one must not wait for it.
    const calledOff = { cancellationSignal: signal, stopWaitingOnCancel: true }
    const answer = await client.request('session/request_permission', params, calledOff)
    outcome = answer.outcome
  } catch (error) {
    // Without an answer, the call is not allowed.
    if (!signal.aborted) log(`permission for ${name}: ${errorText(error)}`)
  }
  if (conversationId !== null) {
    const data = { toolCall, options, answer: outcome } as unknown as JsonObject
    await store.addEvents(conversationId, [{ type: 'permission', data }]).catch((error: unknown) => {
      log(`the answer to a permission could not be kept: ${String(error)}`)
    })
  }
  signal.throwIfAborted()
  return outcome
}
