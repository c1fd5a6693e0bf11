import { askModel } from '../agents/ask-model.ts'
import type { ModelMessage } from '../agents/step.ts'
import { runRaw, say } from './raw-agent.ts'

/** Names its sessions 1, 2, 3 …, from the start in each process, and forgets: some agents count by the
 *  day. */
const known = new Map<string, ModelMessage[]>()

runRaw({
  begin() {
    const sessionId = String(known.size + 1)
    known.set(sessionId, [])
    return sessionId
  },
  async prompt({ sessionId, text, end }) {
    const messages = known.get(sessionId)!
    messages.push({ role: 'user', text })
    const call = { agent: 'counting', sessionId, messages }
    for await (const step of askModel(call, new AbortController().signal))
      if (step.type === 'text') say(sessionId, step.text)
    end()
  },
})
