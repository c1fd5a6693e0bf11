import { parseArgs } from 'node:util'
import { createAgent } from './kit.ts'
import { inProcess } from './memory.ts'
import { canLoad, canResume } from './reopening.ts'

/** Advertises load and resume, forgets when its process ends, and refuses an unknown session with
 *  `--code=…`. */
const { values } = parseArgs({ options: { code: { type: 'string', default: '-32002' } } })
const kit = createAgent({
  name: 'unknown-codes',
  memory: inProcess(),
  capabilities: { loadSession: true, sessionCapabilities: { resume: {} } },
  unknownCode: Number(values.code),
})
canLoad(kit)
canResume(kit)
kit.run()
