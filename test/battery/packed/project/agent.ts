/** An application of `createAgent` with a tool that must not run twice. Each question is a request with a
 *  key, and `acked <n>` follows its answer.
 *
 *  node agent.ts <store> <key> <first request> <ledger> [keyless] */
import { appendFileSync, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { openStore, textOf } from 'skein'
import { createAgent, tool } from 'skein/agent'
import { scripted } from 'skein/models'
import { z } from 'zod'

const [target = '', key = '', first = '0', ledger = '', fault = ''] = process.argv.slice(2)
const tell = (line: string) => writeSync(1, `${line}\n`)

const pay = tool({
  description: 'Pays a bill',
  input: z.object({ bill: z.number() }),
  run: async ({ bill }) => {
    appendFileSync(ledger, `${key} ${bill}\n`)
    // A control is killed while it pays.
    await pause(fault === '' ? 3 : 40)
    return `bill ${bill} is paid`
  },
})
const model = scripted({
  delayMs: 1,
  script: ({ messages }) => {
    // After a crash, a note about the interrupted answer may follow the question.
    const asked = messages.findLast(message => /^question \d/.test(textOf(message)))
    const bill = Number(/\d+/.exec(asked === undefined ? '' : textOf(asked))?.[0])
    if (messages.at(-1) === asked) return { calls: [{ name: 'pay', input: { bill } }] }
    return messages.at(-1)?.role === 'tool_result' ? `answer ${bill}` : `rest of answer ${bill}`
  },
})

const store = await openStore(target)
const agent = createAgent({ store, model, tools: { pay } })
tell('ready')
for (let n = Number(first); ; n++) {
  await agent.ask(key, `question ${n}`, fault === 'keyless' ? {} : { key: `request ${n}` })
  tell(`acked ${n}`)
}
