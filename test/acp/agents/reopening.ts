import type * as acp from '@agentclientprotocol/sdk/unstable'
import type { AgentKit } from './kit.ts'

/** `session/load` as in the protocol: replays everything, then answers. */
export function canLoad({ app, takeUp, replayOf, modesOf }: AgentKit): void {
  app.onRequest('session/load', async ({ params: { sessionId, systemPrompt }, client }) => {
    const known = takeUp(sessionId, systemPrompt)
    for (const update of replayOf(known)) await client.notify('session/update', { sessionId, update })
    return modesOf(known)
  })
}

/** `session/resume` as in the protocol: replays nothing. */
export function canResume({ app, takeUp, modesOf }: AgentKit): void {
  app.onRequest('session/resume', ({ params }) => modesOf(takeUp(params.sessionId, params.systemPrompt)))
}

/** The capabilities of an agent that supports everything for its sessions. */
export const everything: acp.AgentCapabilities = {
  loadSession: true,
  promptCapabilities: { image: true, audio: true, embeddedContext: true },
  sessionCapabilities: { list: {}, delete: {}, resume: {}, close: {}, fork: {} },
}
