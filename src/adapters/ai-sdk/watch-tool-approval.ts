import type { ApprovalNeed, DecidedCall, ToolWatcher } from './watch-tools.ts'

/** A decision of the option `toolApproval` of the AI SDK. */
type Status = string | { readonly type: string; readonly reason?: string } | undefined

interface GivenCall {
  readonly toolCall: { readonly toolCallId: string; readonly toolName: string; readonly input: unknown }
}

type Decide<Args extends readonly unknown[]> = (...args: Args) => Status | PromiseLike<Status>

/** The same option, observed: a decision for all tools, or one for each. */
export function watchToolApproval<T>(given: T, watcher: ToolWatcher): T {
  if (typeof given === 'function') {
    const decide = given as unknown as Decide<[GivenCall]>
    watcher.mayAsk()
    return (async (call: GivenCall) => {
      const { toolCallId: callId, toolName: name, input } = call.toolCall
      return watched({ callId, name, input }, async () => decide(call), watcher)
    }) as T
  }
  if (typeof given !== 'object' || given === null) return given
  const each = Object.entries(given as Record<string, Status | Decide<[unknown, { toolCallId: string }]>>)
  const decisions = each.map(([name, one]) => {
    if (one === undefined) return [name, one]
    watcher.mayAsk(name)
    return [
      name,
      (input: unknown, options: { readonly toolCallId: string }) =>
        watched(
          { callId: options.toolCallId, name, input },
          async () => (typeof one === 'function' ? one(input, options) : one),
          watcher,
        ),
    ]
  })
  return Object.fromEntries(decisions) as T
}

async function watched(
  call: DecidedCall,
  decide: () => Promise<Status>,
  watcher: ToolWatcher,
): Promise<Status> {
  let status: Status
  await watcher.decide(call, async () => {
    status = await decide()
    return needOf(status)
  })
  return status
}

function needOf(status: Status): ApprovalNeed {
  const { type = undefined, reason = null } =
    typeof status === 'object' ? status : { type: status, reason: null }
  return { isNeeded: type === 'user-approval', reason }
}
