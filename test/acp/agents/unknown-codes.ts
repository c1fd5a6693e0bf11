import { parseArgs } from 'node:util'
import { createAgent } from './kit.ts'
import { inProcess } from './memory.ts'
import { canLoad, canResume } from './taking-up.ts'

/** Says that it can load and resume, forgets with its process, and answers for an unknown session with
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
