import { createAgent } from './kit.ts'
import { inProcess } from './memory.ts'

/** No capabilities at all: what it knows ends with its process. */
createAgent({ name: 'forgetful', memory: inProcess() }).run()
