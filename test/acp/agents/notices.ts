import { createAgent } from './kit.ts'
import { onDisk } from './memory.ts'
import { canLoad } from './taking-up.ts'

/** Keeps its sessions on disk, and says something of its own before each answer that it does not repeat, as
 *  codex does. */
const kit = createAgent({
  name: 'notices',
  memory: onDisk(),
  capabilities: { loadSession: true },
  notice: 'Model metadata for `fake` not found. Defaulting to fallback metadata.',
})
canLoad(kit)
kit.run()
