import { createAgent } from './kit.ts'
import { inProcess } from './memory.ts'

/** Loads any session with success, shows nothing and knows nothing of it. */
const memory = inProcess()
const kit = createAgent({ name: 'empty-load', memory, capabilities: { loadSession: true } })
kit.app.onRequest('session/load', ({ params: { sessionId, cwd } }) => {
  memory.keep({ sessionId, cwd, system: null, mode: '', updatedAt: '', entries: [] })
  kit.takeUp(sessionId)
  return {}
})
kit.run()
