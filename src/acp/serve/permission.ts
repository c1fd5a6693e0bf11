import type {
  AgentContext,
  PermissionOption,
  RequestPermissionOutcome,
  RequestPermissionRequest,
} from '@agentclientprotocol/sdk/unstable'
import type { JsonObject } from '../../core/json.ts'
import type { TurnWriter } from '../../core/ports.ts'
import { errorText } from '../error-text.ts'
import type { AskedCall } from './ask-first.ts'
import { toolKind, toolTitle } from './tool-shown.ts'

export interface Asking {
  readonly sessionId: string
  readonly store: Pick<TurnWriter, 'addEvents'>
  readonly client: Pick<AgentContext, 'request'>
  /** True if tools run without being asked for. */
  isAuto(): boolean
  /** Resolves when the client has been shown the call. */
  shown(callId: string): Promise<void>
  /** Told when a call that waited for an answer is run. */
  started(callId: string): Promise<void>
  log(line: string): void
}

/** Who may run, in one session. */
export interface Permissions {
  isAllowed(name: string): boolean
  /** Asks the person, unless it is known. What was asked and answered is kept as an event. */
  may(call: AskedCall): Promise<boolean>
}

export function createPermissions(asking: Asking): Permissions {
  const always = new Set<string>()
  const isAllowed = (name: string) => asking.isAuto() || always.has(name)
  let before: Promise<unknown> = Promise.resolve()
  return {
    isAllowed,
    may(call) {
      // One question at a time: "always" answers those that wait as well.
      const answer = before.then(async () => {
        if (isAllowed(call.name)) return true
        await Promise.race([aborted(call.signal), asking.shown(call.callId)])
        const outcome = await ask(asking, call)
        const chosen = outcome.outcome === 'selected' ? outcome.optionId : null
        if (chosen === 'allow_always') always.add(call.name)
        const isAllowedNow = chosen === 'allow_always' || chosen === 'allow_once'
        if (isAllowedNow) await asking.started(call.callId)
        return isAllowedNow
      })
      before = answer.catch(() => undefined)
      return answer
    },
  }
}

/** Never resolves. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function optionsFor(name: string): PermissionOption[] {
  return [
    { optionId: 'allow_once', kind: 'allow_once', name: 'Allow' },
    { optionId: 'allow_always', kind: 'allow_always', name: `Always allow ${name}` },
    { optionId: 'reject_once', kind: 'reject_once', name: 'Reject' },
  ]
}

async function ask(
  { sessionId, store, client, log }: Asking,
  call: AskedCall,
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
    // Whoever has called the prompt off need not answer: what comes after it must not wait for that.
    const calledOff = { cancellationSignal: signal, stopWaitingOnCancel: true }
    const answer = await client.request('session/request_permission', params, calledOff)
    outcome = answer.outcome
  } catch (error) {
    // Nobody there to ask: then nobody has allowed it.
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
