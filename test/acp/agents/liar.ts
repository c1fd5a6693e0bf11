import { createAgent } from './kit.ts'
import { inProcess } from './memory.ts'
import { everything } from './reopening.ts'

/** Advertises every capability for its sessions, and knows none of them. */
const kit = createAgent({ name: 'liar', memory: inProcess(), capabilities: everything })
const lost = (sessionId: string): never => {
  throw kit.unknown(sessionId)
}
kit.app.onRequest('session/load', ({ params }) => lost(params.sessionId))
kit.app.onRequest('session/resume', ({ params }) => lost(params.sessionId))
kit.app.onRequest('session/fork', ({ params }) => lost(params.sessionId))
kit.app.onRequest('session/list', () => ({ sessions: [] }))
kit.app.onRequest('session/close', ({ params }) => kit.drop(params.sessionId))
kit.app.onRequest('session/delete', ({ params }) => kit.drop(params.sessionId))
kit.run()
