import { setTimeout as rest } from 'node:timers/promises'
import { askModel } from '../agents/ask-model.ts'
import type { ModelMessage } from '../agents/step.ts'
import { runRaw, say, send } from './raw-agent.ts'

/** Sends all updates of its calls twice, and the end of each answer after it has ended the turn. A notice
 *  follows. Forgets. */
const known: ModelMessage[] = []

runRaw({
  begin: () => `late-${process.pid}`,
  async prompt({ sessionId, text, end }) {
    known.push({ role: 'user', text })
    const call = { toolCallId: `call-${known.length}`, title: 'Look', kind: 'read' }
    const ended = { ...call, status: 'completed', rawOutput: 'seen' }
    for (const _ of [1, 2]) send(sessionId, { sessionUpdate: 'tool_call', ...call, status: 'in_progress' })
    for (const _ of [1, 2]) send(sessionId, { sessionUpdate: 'tool_call_update', ...ended })
    const late = ` LATE-${known.length}.`
    let answer = ''
    const asked = { agent: 'late', sessionId, messages: known }
    for await (const step of askModel(asked, new AbortController().signal)) {
      if (step.type !== 'text') continue
      answer += step.text
      say(sessionId, step.text)
    }
    known.push({ role: 'assistant', text: `${answer}${late}` })
    end({ totalTokens: 15, inputTokens: 10, outputTokens: 5, thoughtTokens: 2 })
    await rest(150)
    say(sessionId, late)
    send(sessionId, { sessionUpdate: 'notice', severity: 'info', message: `between ${known.length}` })
  },
})
