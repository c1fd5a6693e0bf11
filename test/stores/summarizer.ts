import { summarize } from '../../src/context/summary/summarize.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { Store } from '../../src/core/ports.ts'
import { openStore } from '../../src/stores/open.ts'
import { told } from '../context/model.ts'

/** An order to a summarizing process. */
export type Order =
  | { readonly do: 'open'; readonly target: string; readonly careless: boolean }
  | { readonly do: 'summarize'; readonly conversationId: ConversationId; readonly head: MessageId }
  | { readonly do: 'answer' }

/** A report of the process: its store is open, its model was called, or the outcome. */
export type News =
  | { readonly is: 'open' | 'asked' }
  | { readonly is: 'done'; readonly outcome: string; readonly text: string | null }

/** A process whose model answers when the parent process orders it. It ends with its parent. */
let store: Store | undefined
let answer: (text: string) => void = () => {}

process.on('message', (order: Order) => {
  obey(order).then(
    news => news && process.send!(news),
    error => process.send!({ is: 'done', outcome: String(error), text: null }),
  )
})
process.on('disconnect', () => process.exit())

async function obey(order: Order): Promise<News | null> {
  switch (order.do) {
    case 'open':
      await store?.close()
      store = await openStore(order.target)
      if (order.careless) store = careless(store)
      return { is: 'open' }
    case 'summarize': {
      const model = told(() => {
        process.send!({ is: 'asked' })
        return new Promise<string>(resolve => {
          answer = resolve
        })
      })
      const { outcome, summary } = await summarize(store!, order, {
        model,
        window: { limit: 100_000 },
        holder: { host: 'race', boot: 'b', pid: process.pid, startedAt: 1 },
        after: (ms, run) => {
          const timer = setTimeout(run, ms)
          return () => clearTimeout(timer)
        },
      })
      return { is: 'done', outcome, text: summary?.text ?? null }
    }
    case 'answer':
      answer(`by ${process.pid}`)
      return null
    default:
      return order satisfies never
  }
}

/** The negative control: every claim succeeds, also while another process summarizes. */
function careless(store: Store): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      if (name === 'claimSummary') return async () => ({ claimed: true })
      return Reflect.get(target, name)
    },
  })
}
