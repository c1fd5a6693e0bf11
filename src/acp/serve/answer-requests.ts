import {
  type AgentApp,
  type AgentContext,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
} from '@agentclientprotocol/sdk/unstable'
import { invalidParamsError, toRequestError } from './request-error.ts'
import type { ServeOptions } from './serve-options.ts'
import type { ServedSession } from './served-session.ts'
import type { ServedSessions } from './served-sessions.ts'
import { isSessionMode } from './session-settings.ts'

/** Has an app answer what clients ask of us. Returns the client's sessions, which are there once it is
 *  connected. */
export function answerRequests(
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

  // First, and `cancel` last: handlers are tried one after the other, and a cancellation must not overtake
  // its prompt.
  app.onRequest(session.prompt, ({ params: { sessionId, prompt }, signal }) =>
    told(async () => sessions().get(sessionId).prompt(prompt, signal)),
  )
  app.onRequest(methods.agent.initialize, ({ params }) => {
    sessions().introduced(params.clientCapabilities?.fs ?? {})
    return introduction(served)
  })
  app.onRequest(session.new, ({ params }) =>
    told(async () => {
      const begun = await sessions().begin(params)
      return { sessionId: begun.id, ...begun.shown() }
    }),
  )
  app.onRequest(session.load, ({ params }) =>
    told(async () => (await sessions().open(params.sessionId, params, { show: true })).shown()),
  )
  app.onRequest(session.resume, ({ params }) =>
    told(async () => (await sessions().open(params.sessionId, params)).shown()),
  )
  app.onRequest(session.fork, ({ params }) =>
    told(async () => {
      const forked = await sessions().fork(params.sessionId, params)
      return { sessionId: forked.id, ...forked.shown() }
    }),
  )
  app.onRequest(session.list, ({ params }) => told(() => sessions().list(params)))
  app.onRequest(session.delete, ({ params }) => told(() => sessions().delete(params.sessionId)))
  app.onRequest(session.close, ({ params }) => told(() => sessions().close(params.sessionId)))
  app.onRequest(session.setMode, ({ params: { sessionId, modeId } }) =>
    told(async () => {
      const one = sessions().get(sessionId)
      setMode(one, modeId)
      await one.tell({ sessionUpdate: 'config_option_update', configOptions: one.shown().configOptions })
    }),
  )
  app.onRequest(session.setConfigOption, ({ params: { sessionId, configId, value } }) =>
    told(async () => {
      const one = sessions().get(sessionId)
      if (configId === 'mode') {
        setMode(one, value)
        await one.tell({ sessionUpdate: 'current_mode_update', currentModeId: one.settings.mode })
      } else if (configId === 'model') await one.setModel(String(value))
      else throw invalidParamsError(`there is no option ${configId}: mode and model can be set`)
      return { configOptions: one.shown().configOptions }
    }),
  )
  app.onNotification(session.cancel, ({ params }) => {
    // A session that is not open has nothing to stop, and nobody waits for an answer.
    sessions().find(params.sessionId)?.cancel()
  })
  return sessions
}

function setMode(session: ServedSession, mode: unknown): void {
  if (!isSessionMode(mode))
    throw invalidParamsError(`there is no mode ${String(mode)}: ask and auto can be set`)
  session.setMode(mode)
}

function introduction({ version }: ServeOptions): InitializeResponse {
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: 'skein', title: 'Skein', version },
    agentCapabilities: {
      loadSession: true,
      // What a model does not take is named to it in words (models/media.ts), so that everything may be sent.
      promptCapabilities: { image: true, audio: true, embeddedContext: true },
      mcpCapabilities: { http: true, sse: false },
      sessionCapabilities: { list: {}, resume: {}, fork: {}, delete: {}, close: {} },
    },
    authMethods: [],
  }
}

/** Whatever goes wrong is told in words that a person can act on. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toRequestError(error)
  }
}
