import { parseArgs } from 'node:util'
import { createAgent } from './kit.ts'
import { onDisk } from './memory.ts'
import { canLoad, canResume, everything } from './reopening.ts'

/** Follows the protocol: stores its sessions on disk, resumes, loads, lists, forks, closes and deletes them,
 *  has modes and message ids. `--system-prompt` accepts one; `--without=resume,fork` removes these
 *  capabilities. */
const { values } = parseArgs({
  options: {
    'system-prompt': { type: 'boolean', default: false },
    without: { type: 'string', default: '' },
  },
})
const lacking = values.without.split(',')
const can = Object.entries({
  ...everything.sessionCapabilities,
  ...(values['system-prompt'] ? { systemPrompt: {} } : {}),
}).filter(([name]) => !lacking.includes(name))
const memory = onDisk()
const kit = createAgent({
  name: 'good',
  memory,
  modes: ['ask', 'code'],
  namesMessages: true,
  capabilities: {
    ...everything,
    loadSession: !lacking.includes('load'),
    sessionCapabilities: Object.fromEntries(can),
  },
})
const { app } = kit
const has = new Set(can.map(([name]) => name))

if (!lacking.includes('load')) canLoad(kit)
if (has.has('resume')) canResume(kit)
if (has.has('list')) {
  app.onRequest('session/list', ({ params }) => ({
    sessions: memory
      .all()
      .filter(({ cwd }) => !params.cwd || params.cwd === cwd)
      .map(({ sessionId, cwd, updatedAt, entries }) => ({
        sessionId,
        cwd,
        updatedAt,
        title: entries[0]?.text.slice(0, 40) ?? null,
      })),
  }))
}
if (has.has('fork')) {
  app.onRequest('session/fork', ({ params }) => {
    const known = memory.find(params.sessionId)
    if (!known) throw kit.unknown(params.sessionId)
    const forked = kit.begin(params.cwd, params.systemPrompt, known.entries)
    return { sessionId: forked.sessionId, ...kit.modesOf(forked) }
  })
}
if (has.has('close')) app.onRequest('session/close', ({ params }) => kit.drop(params.sessionId))
if (has.has('delete')) {
  app.onRequest('session/delete', ({ params }) => {
    kit.drop(params.sessionId)
    memory.forget(params.sessionId)
  })
}
kit.run()
