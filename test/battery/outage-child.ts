import { once } from 'node:events'
import { Pool } from 'pg'
import type { Store } from '../../src/core/ports.ts'
import { beginTurn, type Trouble } from '../../src/recorder/index.ts'
import { openPostgresStore, postgresStore } from '../../src/stores/postgres/index.ts'

/** A process that keeps writing while its server is unavailable. Prints each event as a line of JSON. */

/** `plain`: the default. `narrow`: a queue for few writes. `deaf`: idle, with its own pool that has no error
 *  listener, as the negative control. */
export type Manner = 'plain' | 'narrow' | 'deaf'

export type Line =
  | { readonly begun: true }
  | { readonly trouble: Trouble['kind']; readonly waiting: number }
  /** The outcome of a read. */
  | { readonly read: string; readonly ms: number }
  | {
      readonly ended: { readonly saved: boolean; readonly unsaved: number; readonly lost: number }
      readonly said: number
      readonly slowestAddMs: number
    }

/** The size of the queue in the mode `narrow`. */
export const room = 10

/** The text of the process's message `n`. */
export const saying = (n: number) => `This is what I say as number ${n}.`

if (process.argv[1] === import.meta.filename) await live(process.argv[2]!, process.argv[3] as Manner)

async function live(url: string, manner: Manner): Promise<void> {
  const store = await open(url, manner)
  const { branch, conversation } = await store.findOrCreate('outage')
  const turn = await beginTurn(store, branch, {
    words: [{ role: 'user', content: saying(0) }],
    onTrouble: ({ kind, waiting }) => say({ trouble: kind, waiting }),
    ...(manner === 'narrow' && { limits: { waitingWrites: room } }),
  })
  let told = false
  const end = once(process.stdin, 'data').then(() => {
    told = true
  })
  say({ begun: true })
  // An error of a connection in use is reported in any case.
  if (manner === 'deaf') await end
  let n = 1
  let slowestAddMs = 0
  for (; !told; n++) {
    const before = performance.now()
    await turn.add([{ role: 'assistant', content: saying(n) }])
    slowestAddMs = Math.max(slowestAddMs, performance.now() - before)
    if (n % 3 === 0) await read()
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  const { saved, unsaved, lost = 0 } = await turn.end('complete')
  say({ ended: { saved, unsaved: unsaved.length, lost }, said: n, slowestAddMs })
  process.stdin.destroy()
  await store.close()

  async function read(): Promise<void> {
    const before = performance.now()
    const outcome = await store.getConversation(conversation.id).then(
      () => 'answered',
      (error: { code?: string }) => error.code ?? String(error),
    )
    say({ read: outcome, ms: performance.now() - before })
  }
}

async function open(url: string, manner: Manner): Promise<Store> {
  if (manner !== 'deaf') return openPostgresStore(url)
  return postgresStore(new Pool({ connectionString: url }))
}

function say(line: Line): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
