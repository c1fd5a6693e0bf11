import { createAgent } from './kit.ts'
import { onDisk } from './memory.ts'
import { canLoad } from './reopening.ts'

/** Stores its sessions on disk, and sends a notice before each answer that it does not replay, as codex
 *  does. */
const kit = createAgent({
  name: 'notices',
  memory: onDisk(),
  capabilities: { loadSession: true },
  notice: 'Model metadata for `fake` not found. Defaulting to fallback metadata.',
})
canLoad(kit)
kit.run()
