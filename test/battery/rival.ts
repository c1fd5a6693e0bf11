import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { createAgent } from '../../src/agent/agent.ts'
import type { BranchRef } from '../../src/core/branch.ts'
import { SkeinError } from '../../src/core/errors.ts'
import { textOf } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { scripted } from '../../src/models/scripted.ts'
import { openStore } from '../../src/stores/open.ts'

/** A process with an agent in a conversation that other processes use too. It reads instructions and prints
 *  results, a line of JSON each. */

/** Its policy while another turn is open. `careless`, the negative control, ignores the holder: it appends
 *  wherever the branch currently ends. */
export type Manner = 'wait' | 'refuse' | 'fork' | 'careless'

/** Talk this many times under a key; `stop` ends it early. */
export type Order = { readonly key: string; readonly manner: Manner; readonly count: number } | 'stop'

export type Line =
  | { readonly ready: true }
  /** The question, and the code of the error or the branch of the answer. */
  | { readonly asked: string; readonly answered: BranchRef }
  | { readonly asked: string; readonly refused: string }
  | { readonly done: string }

/** The answer of every agent. */
export const answerTo = (question: string) =>
  `Well then, to what ${question}: this is an answer in several pieces.`

if (process.argv[1] === import.meta.filename) await live(process.argv[2]!, process.argv[3]!)

async function live(target: string, name: string): Promise<void> {
  const store = await openStore(target)
  const model = scripted({
    script: ({ messages }) => {
      const words = messages.findLast(({ role }) => role === 'user')!
      return { text: answerTo(textOf(words)), delayMs: 1 }
    },
  })
  const agent = createAgent({ store, model })
  let told = false
  let working = Promise.resolve()
  say({ ready: true })
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line) as Order
    told = order === 'stop'
    if (order !== 'stop') working = working.then(() => talk(order))
  }
  await working
  await store.close()

  async function talk({ key, manner, count }: Exclude<Order, 'stop'>): Promise<void> {
    for (let n = 0; n < count && !told; n++) {
      const asked = `${name} asks as number ${n} of ${key}`
      try {
        say({ asked, answered: await ask(key, manner, asked) })
      } catch (error) {
        if (!(error instanceof SkeinError)) throw error
        say({ asked, refused: error.code })
      }
    }
    say({ done: key })
  }

  async function ask(key: string, manner: Manner, asked: string): Promise<BranchRef> {
    if (manner !== 'careless') return (await agent.ask(key, asked, { onBusy: manner })).branch!
    const { branch } = await store.findOrCreate(key)
    await append(store, branch, 'user', asked)
    await pause(5)
    await append(store, branch, 'assistant', answerTo(asked))
    return { conversationId: branch.conversationId, name: branch.name }
  }
}

async function append(store: Store, ref: BranchRef, role: 'user' | 'assistant', text: string): Promise<void> {
  for (;;) {
    const { head } = await store.getBranch(ref)
    try {
      await store.append(ref, head, [{ role, content: text }])
      return
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== 'conflict') throw error
    }
  }
}

function say(line: Line): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
