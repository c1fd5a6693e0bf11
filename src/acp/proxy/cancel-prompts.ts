import type { ProxyContext } from './proxy-context.ts'
import type { ProxySession } from './proxy-sessions.ts'

/** Cancels the prompts of a session. The agent has some time to end a prompt that it has; after that, its
 *  process is replaced, unless other sessions use it: then only this prompt is given up. Returns true if the
 *  agent has one of the prompts, so that it must get a `session/cancel`. */
export function cancelPrompts(context: ProxyContext, session: ProxySession): boolean {
  const { limits, source } = context
  let isSent = false
  for (const prompt of session.prompts) {
    if (prompt.giveUp) {
      isSent = true
      if (!prompt.abort.signal.aborted)
        source.after(
          limits.cancelMs,
          () => {
            if (session.prompts.has(prompt)) giveUp(context, session)
          },
          { idle: true },
        )
    }
    prompt.abort.abort(new DOMException('cancelled', 'AbortError'))
  }
  return isSent
}

function giveUp({ log, slot, sessions, limits }: ProxyContext, session: ProxySession): void {
  const isShared = sessions
    .all()
    .some(one => one !== session && [...one.prompts].some(({ giveUp }) => giveUp !== null))
  const seconds = limits.cancelMs / 1_000
  if (isShared) {
    log(`the agent has not ended a cancelled turn within ${seconds} s: it continues in another session`)
    for (const prompt of session.prompts) prompt.giveUp?.()
  } else {
    log(`the agent has not ended a cancelled turn within ${seconds} s: it is started again`)
    slot.restart()
  }
}

/** The same for a session that is closed or deleted. Resolves when nothing of it is running. */
export async function stopSession(context: ProxyContext, session: ProxySession): Promise<void> {
  const { sessionId } = session.seat
  if (cancelPrompts(context, session) && sessionId !== null)
    context.toAgent(JSON.stringify({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId } }))
  await session.seat.idle()
}
