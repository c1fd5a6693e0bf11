import { createInterface } from 'node:readline'
import { setTimeout as rest } from 'node:timers/promises'

/** An agent that writes the current time into each piece of an answer, from the machine's own clock. */

/** The number of pieces of an answer, and the pause between them: as fast as the fastest models. With a rate,
 *  that many pieces per second, in groups if the timers are too slow. With a number of pieces between calls,
 *  the agent calls tools: messages that are stored while the next pieces come. */
const [pieces, restMs, rate = 0, betweenCalls = Number.POSITIVE_INFINITY] = process.argv
  .slice(2)
  .map(Number) as [number, number, number?, number?]

const write = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

createInterface({ input: process.stdin })
  .on('line', line => void answer(JSON.parse(line)))
  .on('close', () => process.exit())

interface Asked {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly sessionId?: string }
}

async function answer({ id, method, params }: Asked): Promise<void> {
  if (method === 'initialize') write({ id, result: { protocolVersion: 1, agentCapabilities: {} } })
  else if (method === 'session/new') write({ id, result: { sessionId: `s-${process.pid}` } })
  else if (method === 'session/prompt') {
    const begun = performance.now()
    for (let n = 0; n < pieces; n++) {
      if (n % betweenCalls === betweenCalls - 1) call(n, params?.sessionId)
      const text = `piece ${n} of an answer that is rather long; `
      const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }
      const at = Number(process.hrtime.bigint())
      write({ method: 'session/update', params: { sessionId: params?.sessionId, _meta: { at }, update } })
      const isAhead = rate === 0 || performance.now() - begun < (1_000 * n) / rate
      if (isAhead) await rest(restMs)
    }
    write({ id, result: { stopReason: 'end_turn' } })
  }
}

function call(n: number, sessionId: string | undefined): void {
  const toolCallId = `call-${n}`
  const begin = { sessionUpdate: 'tool_call', toolCallId, title: 'ls', kind: 'execute', rawInput: { n } }
  const content = [{ type: 'content', content: { type: 'text', text: `output ${n}` } }]
  const end = { sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', content }
  for (const update of [begin, end]) write({ method: 'session/update', params: { sessionId, update } })
}
