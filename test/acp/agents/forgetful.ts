import { createAgent } from './kit.ts'
import { inProcess } from './memory.ts'

/** Has no capabilities: its memory ends with its process. */
createAgent({ name: 'forgetful', memory: inProcess() }).run()
