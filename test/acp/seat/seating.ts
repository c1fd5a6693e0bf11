import type { RunningAgent } from '../../../src/acp/process/agent-process-slot.ts'
import { readCapabilities } from '../../../src/acp/process/agent-process-slot.ts'
import { createSeat, type Seat, type SeatOptions } from '../../../src/acp/seat/seat.ts'
import type { PromptEnd, SeatPrompt, SeatPromptResult } from '../../../src/acp/seat/seat-prompt.ts'
import type { Heard } from '../../../src/acp/transcript/heard.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { type Place, place, user } from '../../recorder/place.ts'

export const answer = (text: string): Heard => ({
  type: 'answer',
  block: { type: 'text', text },
  messageId: null,
})
export const echo = (text: string): Heard => ({
  type: 'user',
  block: { type: 'text', text },
  messageId: null,
})

export interface Seating extends Place {
  readonly seat: Seat
  /** The requests that the agent got: method and session id. */
  readonly requests: readonly string[]
  /** The prompts that the agent got: session id and injected text. */
  readonly prompts: readonly { readonly sessionId: string; readonly injected: string | null }[]
  /** The agent's answer to each method; `session/new` begins sessions s1, s2 … */
  readonly handlers: Record<string, (params: JsonObject) => unknown>
  /** Prompts the agent. `act` performs the agent's turn, and returns how it ends. */
  prompt(
    text: string,
    act?: (sessionId: string) => PromptEnd | Promise<PromptEnd>,
    more?: Partial<SeatPrompt>,
  ): Promise<SeatPromptResult>
}

/** A seat in memory, on a clock that the test moves. */
export async function openSeating(
  options: Partial<SeatOptions> | ((here: Place) => Partial<SeatOptions>) = {},
  capabilities: JsonObject = { loadSession: true, sessionCapabilities: { resume: {} } },
): Promise<Seating> {
  const here = await place()
  const requests: string[] = []
  const prompts: { sessionId: string; injected: string | null }[] = []
  let begun = 0
  const handlers: Seating['handlers'] = { 'session/new': () => ({ sessionId: `s${++begun}` }) }
  const agent: RunningAgent = {
    capabilities: readCapabilities({ agentCapabilities: capabilities }),
    async request(method, params) {
      requests.push(typeof params.sessionId === 'string' ? `${method} ${params.sessionId}` : method)
      return handlers[method]?.(params) ?? {}
    },
    notify() {},
  }
  const seat = createSeat({
    store: here.store,
    source: here.clock,
    agent: 'scripted',
    directory: '/work',
    params: { cwd: '/work', mcpServers: [] },
    branch: async () => here.branch,
    start: async () => agent,
    ...(typeof options === 'function' ? options(here) : options),
  })

  async function prompt(
    text: string,
    act: (sessionId: string) => PromptEnd | Promise<PromptEnd> = () => ({ stop: 'end_turn' }),
    more: Partial<SeatPrompt> = {},
  ): Promise<SeatPromptResult> {
    let isOver = false
    const prompted = seat.prompt({
      words: [user(text)],
      async send(_, sessionId, injected) {
        prompts.push({ sessionId, injected })
        return act(sessionId)
      },
      ...more,
    })
    const over = () => {
      isOver = true
    }
    prompted.then(over, over)
    // The end of a turn and of a replay wait for silence.
    while (!isOver) await here.clock.advance(10)
    return prompted
  }

  return { ...here, seat, requests, prompts, handlers, prompt }
}
