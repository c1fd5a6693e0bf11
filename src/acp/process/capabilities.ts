import { isObject } from '../wire/is-object.ts'

/** What an agent says it can do, as far as its memory is concerned. It may be wrong. */
export interface AgentCapabilities {
  readonly resume: boolean
  readonly load: boolean
  readonly list: boolean
  readonly fork: boolean
  readonly delete: boolean
  readonly close: boolean
  /** Takes a system prompt when a session begins: the clean channel for what it has to know. */
  readonly systemPrompt: boolean
}

/** Reads the answer to `initialize`. */
export function readCapabilities(answer: unknown): AgentCapabilities {
  const capabilities = isObject(answer) ? answer.agentCapabilities : null
  const can = isObject(capabilities) ? capabilities : {}
  const session = isObject(can.sessionCapabilities) ? can.sessionCapabilities : {}
  return {
    resume: isObject(session.resume),
    load: can.loadSession === true,
    list: isObject(session.list),
    fork: isObject(session.fork),
    delete: isObject(session.delete),
    close: isObject(session.close),
    systemPrompt: isObject(session.systemPrompt),
  }
}
