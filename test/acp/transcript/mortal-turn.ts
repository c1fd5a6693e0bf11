import { setTimeout as wait } from 'node:timers/promises'
import type { CallChange, Heard } from '../../../src/acp/transcript/heard.ts'
import { recordTurn } from '../../../src/acp/transcript/record-turn.ts'
import type { BranchRef } from '../../../src/core/branch.ts'
import { beginTurn } from '../../../src/recorder/index.ts'
import { openStore } from '../../../src/stores/open.ts'

/** A process that records an agent until it is killed. It prints each update before it records it, as one
 *  line of JSON. Pipes are written synchronously, so no line is lost. */
export interface HeardLine {
  readonly at: number
  /** `words 7`, `runs c3`, `ends c3` … */
  readonly what: string
}

if (process.argv[2] !== undefined) await live(process.argv[2], JSON.parse(process.argv[3]!))

async function live(target: string, branch: BranchRef): Promise<void> {
  const store = await openStore(target)
  const recording = await beginTurn(store, branch, { words: [{ role: 'user', content: 'go' }] })
  const record = recordTurn(recording)

  async function hear(what: string, heard: Heard): Promise<void> {
    process.stdout.write(`${JSON.stringify({ at: performance.now(), what } satisfies HeardLine)}\n`)
    record.hear(heard)
    await wait(2)
  }
  const call = (callId: string, status: NonNullable<CallChange['status']>): Heard => ({
    type: 'call',
    call: { callId, name: 'read', status, output: callId },
  })
  let said = 0
  async function say(times: number): Promise<void> {
    for (let i = 0; i < times; i++, said++) {
      const block = { type: 'text', text: `${said} ` } as const
      await hear(`words ${said}`, { type: 'answer', block, messageId: null })
    }
  }

  // Text for more than 200 ms, before a call and while it runs: only drafts can keep it.
  for (let n = 0; ; n++) {
    await say(200)
    await hear(`announces c${n}`, call(`c${n}`, 'pending'))
    await wait(n % 2 === 0 ? 0 : 300)
    await hear(`runs c${n}`, call(`c${n}`, 'in_progress'))
    await say(200)
    await hear(`ends c${n}`, call(`c${n}`, 'completed'))
  }
}
