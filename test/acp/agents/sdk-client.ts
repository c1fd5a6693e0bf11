import { spawn } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import * as acp from '@agentclientprotocol/sdk/unstable'
import type { Stage } from './harness.ts'

/** A client on the SDK, for the test of the agents themselves. */
export interface SdkClient extends AsyncDisposable {
  readonly capabilities: acp.AgentCapabilities
  readonly agent: acp.ClientContext
  /** All updates that the SDK passed on. */
  readonly updates: readonly acp.SessionUpdate[]
  /** The text of these updates, joined. */
  told(kind: 'user' | 'agent'): string
  newSession(params?: Partial<acp.NewSessionRequest>): Promise<string>
  load(sessionId: string): Promise<unknown>
  prompt(sessionId: string, ...texts: readonly string[]): Promise<acp.PromptResponse>
  /** The agent's process exits by itself. */
  readonly ended: Promise<number | null>
}

export async function startSdkClient(
  { cwd, env }: Stage,
  command: readonly string[],
  permission: 'yes' | 'no' = 'yes',
): Promise<SdkClient> {
  const child = spawn(command[0]!, command.slice(1), { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<number | null>(resolve => child.on('close', resolve))
  child.stdin.on('error', () => undefined) // it may have gone
  const updates: acp.SessionUpdate[] = []
  const input = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>
  const connection = acp
    .client({ name: 'test' })
    .onNotification('session/update', ({ params }) => void updates.push(params.update))
    .onRequest('session/request_permission', () => ({
      outcome: { outcome: 'selected', optionId: permission },
    }))
    .connect(acp.ndJsonStream(Writable.toWeb(child.stdin), input))
  const { agent } = connection
  const { agentCapabilities = {} } = await agent.request('initialize', { protocolVersion: 1 })
  return {
    capabilities: agentCapabilities,
    agent,
    updates,
    told: kind =>
      updates
        .filter(update => update.sessionUpdate === `${kind}_message_chunk`)
        .map(update => ('content' in update ? (update.content as { text: string }).text : ''))
        .join(''),
    newSession: async (params = {}) =>
      (await agent.request('session/new', { cwd, mcpServers: [], ...params })).sessionId,
    load: sessionId => agent.request('session/load', { sessionId, cwd, mcpServers: [] }),
    prompt: (sessionId, ...texts) =>
      agent.request('session/prompt', { sessionId, prompt: texts.map(text => ({ type: 'text', text })) }),
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
      connection.close()
    },
  }
}
