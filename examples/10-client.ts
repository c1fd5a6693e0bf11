// Use a service from another program or machine. `skein serve` is started here only so that the example runs
// by itself; usually it runs elsewhere, and the program knows its address and a token.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createClient, ServiceError } from 'skein/client'

const skein = fileURLToPath(import.meta.resolve('skein/package.json')).replace(
  'package.json',
  'dist/cli/skein.cjs',
)
const service = spawn(process.execPath, [skein, 'serve', '--port', '0', '--json'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
process.on('exit', () => service.kill())
const [line] = (await once(createInterface(service.stdout), 'line')) as [string]
const { url, token_file: file } = JSON.parse(line) as { url: string; token_file: string }

const client = createClient({ url, token: (await readFile(file, 'utf8')).trim() })

// One conversation per key: whichever process comes first creates it.
const { conversation } = await client.findOrCreate('example:client', { title: 'From a client' })
await client.appendMessages(conversation.id, { messages: [{ role: 'user', content: 'My name is Ada.' }] })

// The answer is streamed. The turn continues in the service if this program ends.
for await (const event of client.askEvents(conversation.id, { content: 'What is my name?' })) {
  if (event.type === 'text') process.stdout.write(event.text)
  if (event.type === 'ended') console.log(`\nturn: ${event.status}`)
}

// Another try beside the first: a branch at any message.
const { items: messages } = await client.readPath(conversation.id, { limit: 2 })
const fork = await client.createBranch(conversation.id, { at: messages[0]!.id })
console.log(`fork: ${fork.head === messages[0]!.id}`)

for await (const one of client.conversations({ key_prefix: 'example:' })) console.log(`listed: ${one.title}`)

try {
  await client.getMessage('a'.repeat(32))
} catch (error) {
  if (error instanceof ServiceError) console.log(`error: ${error.status} ${error.code}`)
}

service.kill()
