import { once } from 'node:events'
import type { BranchRef } from '../../src/core/branch.ts'
import { beginTurn, type Trouble, type TurnReport } from '../../src/recorder/index.ts'
import { openStore } from '../../src/stores/open.ts'

/** A process that records a turn and stops at a given point, to be killed there, or to continue on an order.
 *  It reports each action before and after it, one line of JSON each. Pipes are written synchronously, so
 *  that no report is lost with it. */

export const points = [
  'before the words',
  'after the words',
  'in the middle of an answer',
  'before the answer is stored',
  'after the answer is stored',
  'after a tool was started',
  'after a tool has ended',
  'before the end',
  'after the end',
] as const
export type Point = (typeof points)[number]

export type Line =
  | { readonly stored: string }
  | { readonly drafted: string; readonly at: number }
  | { readonly point: Point }
  | { readonly ended: TurnReport; readonly troubles: readonly Trouble['kind'][] }

export const question = 'Read the file and tell me.'
export const answer = 'I am going to read it.'
export const result = 'forty-two'
export const final = 'It says forty-two.'

if (process.argv[2] !== undefined)
  await live(process.argv[2], JSON.parse(process.argv[3]!), process.argv[4] as Point)

async function live(target: string, branch: BranchRef, deadly: Point): Promise<void> {
  const store = await openStore(target)
  await reach('before the words')
  const troubles: Trouble['kind'][] = []
  const turn = await beginTurn(store, branch, {
    words: [{ role: 'user', content: question }],
    key: 'mortal',
    onTrouble: ({ kind }) => troubles.push(kind),
  })
  say({ stored: question })
  await reach('after the words')
  await draft(deadly === 'in the middle of an answer' ? 10_000 : 100)
  await reach('before the answer is stored')
  await turn.add([
    {
      role: 'assistant',
      content: [
        { type: 'text', text: answer },
        { type: 'tool_call', callId: 'c1', name: 'read', input: {} },
      ],
    },
  ])
  say({ stored: answer })
  await reach('after the answer is stored')
  await turn.trace([{ type: 'tool_started', data: { callId: 'c1' } }])
  say({ stored: 'tool_started' })
  await reach('after a tool was started')
  await turn.add([{ role: 'tool_result', content: [{ type: 'tool_result', callId: 'c1', output: result }] }])
  say({ stored: result })
  await reach('after a tool has ended')
  await turn.add([{ role: 'assistant', content: final }])
  say({ stored: final })
  await reach('before the end')
  say({ ended: await turn.end('complete'), troubles })
  await reach('after the end')
  await store.close()

  async function draft(pieces: number): Promise<void> {
    for (let n = 0; n < pieces; n++) {
      const text = `${n} `
      say({ drafted: text, at: performance.now() })
      turn.draft({ type: 'text', text })
      await new Promise(resolve => setTimeout(resolve, 2))
      if (n === 20) say({ point: 'in the middle of an answer' })
    }
  }

  async function reach(point: Point): Promise<void> {
    if (point !== deadly) return
    say({ point })
    await once(process.stdin, 'data')
    process.stdin.pause()
  }
}

function say(line: Line): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
