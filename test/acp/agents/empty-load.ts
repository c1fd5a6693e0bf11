import { createAgent } from './kit.ts'
import { inProcess } from './memory.ts'

/** Answers a load of any session with success, replays nothing and knows nothing of it. */
const memory = inProcess()
const kit = createAgent({ name: 'empty-load', memory, capabilities: { loadSession: true } })
kit.app.onRequest('session/load', ({ params: { sessionId, cwd } }) => {
  memory.keep({ sessionId, cwd, system: null, mode: '', updatedAt: '', entries: [] })
  kit.takeUp(sessionId)
  return {}
})
kit.run()
