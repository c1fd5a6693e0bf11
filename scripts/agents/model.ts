import { type CodingTurn, codingTurns } from '../../test/acp/agents/coding-talk.ts'
import { timesIn } from '../../test/acp/agents/step.ts'
import type { Reply } from '../../test/support/models/reply.ts'
import { type ModelServer, type SeenRequest, startModelServer } from '../../test/support/models/server.ts'
import { findName, recallReply } from './recall-call.ts'
import { shellCall } from './shell-call.ts'

/** The model of the real agents: it answers a question with the question's own name, and can be told to stop
 *  in the middle of an answer. */
export interface MarkedModel extends Pick<ModelServer, 'url' | 'close'> {
  /** The model's input for the question with this name, or null if the agent never asked it. */
  asked(name: string): SeenRequest | null
  /** The answer to this question stops in the middle and never ends. */
  holdBack(name: string): void
}

export const questionOf = (name: string): string => `MARK-${name}`
export const answerOf = (name: string): string => `ANSWER-${name}.`
export const halfOf = (name: string): string => `HALF-${name}`

export async function startMarkedModel(): Promise<MarkedModel> {
  const held = new Set<string>()
  const server = await startModelServer({
    lenient: true,
    reply(request) {
      const turn = isTurn(request) ? codingTurnOf(request) : null
      if (turn) return codingReply(turn, request)
      const finding = isTurn(request) ? findingIn(request) : -1
      if (finding >= 0) return recallReply(request, finding)
      const name = nameOf(request)
      if (name === null) return 'ok'
      if (held.has(name) && isTurn(request))
        return { parts: [{ text: `${halfOf(name)} of an ` }, { hang: true }] }
      return { parts: [{ text: [`${answerOf(name)} `, 'Understood.'] }] }
    },
  })
  return {
    url: server.url,
    close: () => server.close(),
    holdBack: name => held.add(name),
    asked: name => server.requests.findLast(one => isTurn(one) && nameOf(one) === name) ?? null,
  }
}

/** The turn of the coding conversation that a request belongs to. */
function codingTurnOf({ messages }: SeenRequest): CodingTurn | null {
  const said = messages.map(({ role, text }) => (role === 'user' ? text : '')).join('\n')
  const name = [...said.matchAll(/MARK-(\w+)/g)].at(-1)?.[1]
  return codingTurns.find(turn => turn.name === name) ?? null
}

/** The index of the question what another agent was told, if it is the newest question; else -1. */
function findingIn({ messages }: SeenRequest): number {
  const at = messages.findLastIndex(({ role, text }) => role === 'user' && /MARK-\w/.test(text))
  return messages[at]?.text.includes(questionOf(findName)) ? at : -1
}

/** First the command, then the answer. */
function codingReply({ name, command, answer }: CodingTurn, request: SeenRequest): Reply {
  const asked = request.messages.findLastIndex(({ text }) => text.includes(questionOf(name)))
  const hasRun = request.messages.slice(asked).some(({ results }) => results.length > 0)
  const call = command && !hasRun ? shellCall(request, command.line) : null
  return call ? { parts: [{ text: 'I begin.' }, { call }] } : answer
}

/** How often a text occurs in the model's input, in any role. */
export function timesGiven({ messages }: SeenRequest, text: string): number {
  return messages.reduce((sum, message) => sum + timesIn(message.text, text), 0)
}

/** Agents also ask models for titles and the like, and pass no tools in these calls. */
function isTurn({ tools }: SeenRequest): boolean {
  return tools.length > 0
}

/** The newest question. A told history precedes it; an agent's own reminders follow it. */
function nameOf({ messages }: SeenRequest): string | null {
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)
  const text = since.map(one => (one.role === 'user' ? one.text : '')).join('\n')
  return [...text.matchAll(/MARK-(\w+)/g)].at(-1)?.[1] ?? null
}
