import { createWorker } from '../../src/dispatch/index.ts'
import { openStore, type Store } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'
import { answer, type Death, loggingTools } from '../agent/crash-child.ts'

const writes: ReadonlySet<string | symbol> = new Set([
  ...['append', 'putDraft', 'addEvents', 'endTurn', 'renewTurn', 'findOrCreateByTask'],
  ...['claimDispatch', 'linkDispatch', 'renewDispatch', 'finishDispatch'],
])

/** The store, in a process that dies at one of its writes. */
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
        if (death.when === 'after' && mine === death.write) die()
        return result
      }
    },
  })
}

/** A worker that uses two tools and answers slowly enough for drafts. */
export function toolScript() {
  const calls = [
    { name: 'once', input: {} },
    { name: 'again', input: {} },
  ]
  return [
    { text: 'I will.', calls },
    { text: answer, delayMs: 15 },
  ]
}

async function main(target: string, log: string, death: Death): Promise<void> {
  const opened = await openStore(target)
  const store = mortal(opened, death)
  const agentFor = () => ({ model: scripted({ script: toolScript() }), tools: loggingTools(log) })
  await createWorker({ store, tasks: store, agentFor, untilIdle: true, pollMs: 10, name: 'mortal' }).ended
  await opened.close()
  process.disconnect()
}

if (process.argv[1] === import.meta.filename) {
  const [target, log, when, write] = process.argv.slice(2)
  await main(target!, log!, { when: when as Death['when'], write: Number(write) })
}
