// A process dies during a tool call, and the next one continues the turn. The tool that had started is not
// run again, the repeatable one is, and the model is told which is which.

import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from 'skein'
import { createAgent, tool } from 'skein/agent'
import { scripted } from 'skein/models'
import { z } from 'zod'

const place = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'skein-crash-'))
const first = process.argv[2] !== undefined
const log = join(place, 'log.txt')

const transfer = tool({
  description: 'Sends money',
  input: z.object({ to: z.string(), sum: z.number() }),
  run({ to, sum }) {
    appendFileSync(log, `${sum} to ${to}\n`)
    // A crash: the money is sent, and the result is lost.
    process.kill(process.pid, 'SIGKILL')
  },
})
const balance = tool({
  description: 'Reads the balance',
  input: z.object({}),
  repeatable: true,
  run: () => (first ? new Promise(() => undefined) : 90),
})

const script = first
  ? [
      {
        calls: [
          { name: 'transfer', input: { to: 'Anna', sum: 10 } },
          { name: 'balance', input: {} },
        ],
      },
    ]
  : [{ text: 'I do not know whether Anna got her money, so I have not sent it again. The balance is 90.' }]

const store = await openStore(join(place, 'conversations.db'))
try {
  const agent = createAgent({ store, model: scripted({ script }), tools: { transfer, balance } })
  if (first) await agent.ask('bank', 'Send 10 to Anna, and tell me the balance.')

  const child = spawnSync(process.execPath, [import.meta.filename, place], { encoding: 'utf8' })
  console.log(`The first process ended by ${child.signal}.`)

  for await (const event of agent.resume('bank')) {
    if (event.type === 'resumed') console.log(`Unknown outcome: ${event.unknown.map(({ name }) => name)}.`)
    if (event.type === 'tool_started') console.log(`Run again: ${event.name}.`)
    if (event.type === 'ended') console.log(`Agent: ${event.reply.text}`)
  }
  console.log(`Transfers made: ${readFileSync(log, 'utf8').trim()}.`)
} finally {
  await store.close()
  rmSync(place, { recursive: true })
}
