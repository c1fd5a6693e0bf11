import { createAgent } from './kit.ts'
import { onDisk } from './memory.ts'
import { canLoad } from './reopening.ts'

/** Stores its sessions on disk, puts a reminder of its own before each question, and replays it as text of
 *  the user. */
const kit = createAgent({
  name: 'repeats',
  memory: onDisk(),
  capabilities: { loadSession: true },
  reminder: '<system-reminder>The working folder has 3 files. Be brief.</system-reminder>',
})
canLoad(kit)
kit.run()
