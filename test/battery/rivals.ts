import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ConversationId } from '../../src/core/ids.ts'
import { type Message, textOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import { answerTo, type Line, type Order } from './rival.ts'

/** A process that talks in conversations of a store, as instructed. */
export interface Rival {
  /** Talks as instructed, and returns the results at the end. */
  talk(order: Exclude<Order, 'stop'>): Promise<readonly Line[]>
  /** Ends its talk after the current message. */
  stop(): void
  /** The next time it says something. */
  speaks(): Promise<unknown>
  freeze(): void
  thaw(): void
  kill(): Promise<void>
}

export async function startRival(target: string, name: string): Promise<Rival> {
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, 'rival.ts'), target, name], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const lines = createInterface({ input: child.stdout! })
  const next = (): Promise<Line> =>
    Promise.race([
      once(lines, 'line').then(([line]) => JSON.parse(line as string) as Line),
      ended.then(([code]) => Promise.reject(new Error(`${name} ended with ${code}`))),
    ])
  const tell = (order: Order) => child.stdin!.write(`${JSON.stringify(order)}\n`)
  await next()
  return {
    async talk(order) {
      const said: Line[] = []
      const { promise, resolve, reject } = Promise.withResolvers<readonly Line[]>()
      const listen = (text: string) => {
        const line = JSON.parse(text) as Line
        if ('done' in line) resolve(said)
        else said.push(line)
      }
      lines.on('line', listen)
      ended.then(([code]) => reject(new Error(`${name} ended with ${code}`)))
      tell(order)
      return promise.finally(() => lines.removeListener('line', listen))
    },
    stop: () => void tell('stop'),
    speaks: next,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async kill() {
      child.kill('SIGKILL')
      await ended.catch(() => {})
    },
  }
}

/** The faults of a conversation in which rivals talked: none, if each answered question is stored once,
 *  directly followed by its answer, on the named branch, and no refused question is stored at all. */
export async function faultsIn(store: Store, id: ConversationId, said: readonly Line[]): Promise<string[]> {
  const faults: string[] = []
  const { items } = await store.listMessages({ conversationId: id, order: 'ascending', limit: 10_000 })
  if (items.some(({ seq }, i) => seq !== i)) faults.push('there is a gap')
  const times = Map.groupBy(items.map(textOf), text => text)
  const paths = new Map<string, readonly Message[]>()
  for (const { name, head } of await collectPages(page => store.listBranches(id, page)))
    paths.set(name, head ? await pathOf(store, head) : [])
  for (const line of said) {
    if (!('asked' in line)) continue
    const count = times.get(line.asked)?.length ?? 0
    if ('refused' in line) {
      if (count > 0) faults.push(`${line.asked}: refused with ${line.refused}, and there`)
      continue
    }
    if (count !== 1) faults.push(`${line.asked}: there ${count} times`)
    const path = paths.get(line.answered.name) ?? []
    const at = path.findIndex(message => textOf(message) === line.asked)
    const behind = path[at + 1]
    if (at < 0 || !behind || textOf(behind) !== answerTo(line.asked))
      faults.push(`${line.asked}: not answered on ${line.answered.name}, but ${behind && textOf(behind)}`)
  }
  return faults
}
