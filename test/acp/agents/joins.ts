import { createAgent } from './kit.ts'
import { inProcess } from './memory.ts'

/** Joins the blocks of a prompt with nothing in between; otherwise as forgetful as the forgetful one. */
createAgent({ name: 'joins', memory: inProcess(), separator: '' }).run()
