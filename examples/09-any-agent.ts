// Chat with any agent that supports the Agent Client Protocol. Its process may end and lose its memory: the
// conversation is in the store, and the next process receives it.

import { fileURLToPath } from 'node:url'
import { openStore } from 'skein'
import { createHost } from 'skein/acp'

// `copilot --acp --stdio`, `opencode acp`, … Our own agent needs no key.
const skein = fileURLToPath(import.meta.resolve('skein/package.json')).replace(
  'package.json',
  'dist/cli/skein.cjs',
)
const command = { command: process.execPath, args: [skein, 'acp', '--db', '.skein/the-agents-own.db'] }

await using store = await openStore('.skein/any-agent.db')
for (const words of ['My name is Ada', 'what is my name?']) {
  // A new process each time.
  await using host = createHost({ store, command, name: 'ours' })
  for await (const event of host.send('example:any-agent', words)) {
    if (event.type === 'memory') console.log(`memory: ${event.outcome}`)
    if (event.type === 'ended') console.log(`agent: ${event.reply.text}`)
  }
}
