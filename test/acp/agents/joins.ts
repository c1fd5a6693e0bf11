import { createAgent } from './kit.ts'
import { inProcess } from './memory.ts'

/** Joins the blocks of a prompt without a separator; otherwise like the forgetful agent. */
createAgent({ name: 'joins', memory: inProcess(), separator: '' }).run()
