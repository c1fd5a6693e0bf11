import { isObject } from '../wire/is-object.ts'

/** The capabilities that an agent advertises, as far as its memory is concerned. They may be wrong. */
export interface AgentCapabilities {
  readonly resume: boolean
  readonly load: boolean
  readonly list: boolean
  readonly fork: boolean
  readonly delete: boolean
  readonly close: boolean
  /** Accepts a system prompt in `session/new`: the cleanest channel for a history. */
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
