import { randomUUID } from 'node:crypto'
import { Readable, type Writable } from 'node:stream'
import {
  type AgentApp,
  type AgentContext,
  agent,
  type InitializeResponse,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
} from '@agentclientprotocol/sdk/unstable'
import { storeIdKey } from '../sessions/session-id.ts'
import { oneWriteAtATime } from './one-write-at-a-time.ts'
import { invalidParamsError, toRequestError } from './request-error.ts'
import type { ServeOptions } from './serve-options.ts'
import type { ServedSession } from './served-session.ts'

import { createServedSessions, type ServedSessions } from './served-sessions.ts'
import { isSessionMode, modeNames } from './session-settings.ts'

/** The streams of a client. */
export interface ClientStreams {
  readonly input: Readable
  readonly output: Writable
  /** Ends the connection from our side. */
  readonly signal?: AbortSignal
}

/** The longest message: images are large, and base64 makes them larger. */
const maxMessageBytes = 128 * 1024 * 1024

/** Serves one client as an agent of the protocol until it disconnects. Then stops running turns and stores
 *  what has arrived. Does not close the store or the models. */
export async function serve(served: ServeOptions, { input, output, signal }: ClientStreams): Promise<void> {
  const app = agent({ name: 'skein' })
  const sessions = answerRequests(app, served, client => createServedSessions(served, client, randomUUID))
  const from = Readable.toWeb(input) as ReadableStream<Uint8Array>
  const connection = app.connect(ndJsonStream(oneWriteAtATime(output), from, { maxMessageBytes }))
  const close = () => connection.close()
  signal?.addEventListener('abort', close, { once: true })
  if (signal?.aborted) close()
  await connection.closed
  signal?.removeEventListener('abort', close)
  await sessions().end()
}

/** Registers handlers for all requests. Returns the sessions of the client, which exist once it is
 *  connected. */
function answerRequests(
  app: AgentApp,
  served: ServeOptions,
  connected: (client: AgentContext) => ServedSessions,
): () => ServedSessions {
  let made: ServedSessions | undefined
  app.onConnect(({ client }) => {
    made = connected(client)
  })
  const sessions = () => made!
  const { session } = methods.agent

  // `prompt` first and `cancel` last: handlers are tried in this order, and a cancellation must not overtake
  // its prompt.
  app.onRequest(session.prompt, ({ params: { sessionId, prompt }, signal }) =>
    withRequestErrors(async () => sessions().get(sessionId).prompt(prompt, signal)),
  )
  app.onRequest(methods.agent.initialize, ({ params }) => {
    sessions().introduced(params.clientCapabilities)
    return introduction(served)
  })
  app.onRequest(session.new, ({ params }) =>
    withRequestErrors(async () => {
      const begun = await sessions().begin(params)
      offerSoon(begun)
      return { sessionId: begun.id, ...begun.shown() }
    }),
  )
  app.onRequest(session.load, ({ params }) =>
    withRequestErrors(async () => opened(await sessions().open(params.sessionId, params, { show: true }))),
  )
  app.onRequest(session.resume, ({ params }) =>
    withRequestErrors(async () => opened(await sessions().open(params.sessionId, params))),
  )
  app.onRequest(session.fork, ({ params }) =>
    withRequestErrors(async () => {
      const forked = await sessions().fork(params.sessionId, params)
      offerSoon(forked)
      return { sessionId: forked.id, ...forked.shown() }
    }),
  )
  app.onRequest(session.list, ({ params }) => withRequestErrors(() => sessions().list(params)))
  app.onRequest(session.delete, ({ params }) => withRequestErrors(() => sessions().delete(params.sessionId)))
  app.onRequest(session.close, ({ params }) => withRequestErrors(() => sessions().close(params.sessionId)))
  app.onRequest(session.setMode, ({ params: { sessionId, modeId } }) =>
    withRequestErrors(async () => {
      const one = sessions().get(sessionId)
      setMode(one, modeId)
      await one.notify({ sessionUpdate: 'config_option_update', configOptions: one.shown().configOptions })
    }),
  )
  app.onRequest(session.setConfigOption, ({ params: { sessionId, configId, value } }) =>
    withRequestErrors(async () => {
      const one = sessions().get(sessionId)
      if (configId === 'mode') {
        setMode(one, value)
        await one.notify({ sessionUpdate: 'current_mode_update', currentModeId: one.settings.mode })
      } else if (configId === 'model') await one.setModel(String(value))
      else throw invalidParamsError(`there is no option ${configId}: mode and model can be set`)
      return { configOptions: one.shown().configOptions }
    }),
  )
  app.onNotification(session.cancel, ({ params }) => {
    // A session that is not open has nothing to cancel, and a notification has no answer.
    sessions().find(params.sessionId)?.cancel()
  })
  return sessions
}

/** The client knows the session of a load already: its updates come before the answer. */
async function opened(session: ServedSession): Promise<ReturnType<ServedSession['shown']>> {
  await session.offerCommands()
  return session.shown()
}

/** The client learns the id of a new session with the answer: updates must come after it. */
function offerSoon(session: ServedSession): void {
  setImmediate(() => void session.offerCommands().catch(() => undefined))
}

function setMode(session: ServedSession, mode: unknown): void {
  if (!isSessionMode(mode))
    throw invalidParamsError(`there is no mode ${String(mode)}; there are: ${modeNames}`)
  session.setMode(mode)
}

function introduction({ version, storeId }: ServeOptions): InitializeResponse {
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: 'skein', title: 'Skein', version },
    agentCapabilities: {
      loadSession: true,
      // Media that a model does not accept is described to it as text (models/media.ts), so clients may send
      // everything.
      promptCapabilities: { image: true, audio: true, embeddedContext: true },
      mcpCapabilities: { http: true, sse: false },
      sessionCapabilities: {
        list: {},
        resume: {},
        fork: {},
        delete: {},
        close: {},
        additionalDirectories: {},
      },
      ...(storeId === undefined ? {} : { _meta: { [storeIdKey]: storeId } }),
    },
    authMethods: [],
  }
}

/** Reports errors with a message that a person can act on. */
async function withRequestErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toRequestError(error)
  }
}
