import { appendFileSync } from 'node:fs'
import { z } from 'zod'
import { createAgent } from '../../src/agent/agent.ts'
import { type AgentTool, tool } from '../../src/agent/tools/tool.ts'
import { openStore, type Store } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'

const writes: ReadonlySet<string | symbol> = new Set([
  'append',
  'putDraft',
  'addEvents',
  'endTurn',
  'renewTurn',
])

/** Where the process dies: before or after the n-th write to its store. */
export interface Death {
  readonly when: 'before' | 'after'
  readonly write: number
}

/** Tools that log their runs outside of the store. */
export function loggingTools(log: string): Readonly<Record<'once' | 'again', AgentTool>> {
  const make = (name: string, repeatable: boolean) =>
    tool({
      description: '',
      input: z.object({}),
      repeatable,
      run: () => {
        appendFileSync(log, `${name}\n`)
        return `${name} was run`
      },
    })
  return { once: make('once', false), again: make('again', true) }
}

export const question = 'Use both of your tools.'
export const answer = 'Both tools have been used, and this is a longer answer.'

/** The store, in a process that dies at one of its writes. Reports each write. */
function mortal(store: Store, death: Death): Store {
  let n = 0
  const die = () => process.kill(process.pid, 'SIGKILL')
  return new Proxy(store, {
    get(target, name) {
      if (!writes.has(name)) return Reflect.get(target, name)
      const method = target[name as keyof Store] as (...args: unknown[]) => Promise<unknown>
      return async (...args: unknown[]) => {
        const mine = ++n
        if (death.when === 'before' && mine === death.write) die()
        const result = await method.apply(target, args)
        process.send!({ wrote: mine })
        if (death.when === 'after' && mine === death.write) die()
        return result
      }
    },
  })
}

async function main(target: string, log: string, death: Death): Promise<void> {
  const store = await openStore(target)
  const calls = [
    { name: 'once', input: {} },
    { name: 'again', input: {} },
  ]
  // Long enough for drafts: the recorder stores them a tenth of a second after the first piece.
  const script = [
    { text: 'I will.', calls },
    { text: answer, delayMs: 15 },
  ]
  const agent = createAgent({
    store: mortal(store, death),
    model: scripted({ script }),
    tools: loggingTools(log),
  })
  await agent.ask('talk', question)
  await store.close()
  process.disconnect()
}

if (process.argv[1] === import.meta.filename) {
  const [target, log, when, write] = process.argv.slice(2)
  await main(target!, log!, { when: when as Death['when'], write: Number(write) })
}
