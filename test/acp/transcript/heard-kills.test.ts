import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import type { BranchRef } from '../../../src/core/branch.ts'
import { type Message, textOf } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import { takeOver } from '../../../src/recorder/index.ts'
import { openStore } from '../../../src/stores/open.ts'
import { note } from '../../battery/note.ts'
import { size } from '../../battery/size.ts'
import { temporaryFile } from '../../recorder/engines.ts'
import type { HeardLine } from './mortal-turn.ts'

const rounds = size({ gate: 1, full: 20 })

/** The line behind which the process is killed: in its first words, while a tool runs, and after the tool. */
const deadly = ['words 150', 'words 350', 'words 550']

/** Runs a process that records an agent, and kills it some time after this line. Returns the lines that it
 *  had printed. */
async function killed(
  target: string,
  branch: BranchRef,
  behind: string,
  afterMs: number,
): Promise<readonly HeardLine[]> {
  const script = fileURLToPath(new URL('mortal-turn.ts', import.meta.url))
  const child = spawn(process.execPath, [script, target, JSON.stringify(branch)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: HeardLine[] = []
  const closed = once(child, 'close')
  createInterface({ input: child.stdout }).on('line', line => {
    const heard = JSON.parse(line) as HeardLine
    lines.push(heard)
    if (heard.what === behind) setTimeout(() => child.kill('SIGKILL'), afterMs)
  })
  const [, signal] = await closed
  expect(signal).toBe('SIGKILL')
  return lines
}

function callsIn(messages: readonly Message[], type: 'tool_call' | 'tool_result'): readonly string[] {
  return messages.flatMap(({ content: blocks }) =>
    blocks.flatMap(block => (block.type === type ? [String(block.callId)] : [])),
  )
}

it.each(deadly)(
  'a turn whose recorder is killed has all text but that of the last 200 ms: %s',
  {
    timeout: 30_000 * rounds,
  },
  async behind => {
    const target = temporaryFile()
    const store = await openStore(target)
    onTestFinished(() => store.close())
    for (let round = 0; round < rounds; round++) {
      const { branch, conversation } = await store.create()
      const afterMs = Math.floor(Math.random() * 60)
      const lines = await killed(target, branch, behind, afterMs)
      await takeOver(store, conversation.id)
      const { head } = await store.getBranch(branch)
      const [question, ...answers] = await pathOf(store, head!)
      const told = `killed ${afterMs} ms behind ${behind}, with ${lines.length} of them`
      expect(textOf(question!), told).toBe('go')

      // By the clock of the process: while it is not scheduled, nothing arrives either.
      const last = lines.at(-1)!.at
      const due = lines.filter(({ at }) => last - at > 200)
      const words = answers
        .filter(({ role }) => role === 'assistant')
        .map(textOf)
        .join('')
      const heard = textsOf(lines)
      expect(heard.startsWith(words), told).toBe(true)
      expect(words.length, told).toBeGreaterThanOrEqual(textsOf(due).length)

      const calls = callsIn(answers, 'tool_call')
      const results = callsIn(answers, 'tool_result')
      for (const { what } of due) {
        const [how, id = ''] = what.split(' ')
        if (how === 'announces' || how === 'runs') expect(calls, told).toContain(id)
        if (how === 'ends') expect(results, told).toContain(id)
      }
      for (const id of results)
        expect(
          calls.filter(one => one === id),
          told,
        ).toHaveLength(1)
      const turns = await collectPages(page => store.listTurns(conversation.id, page))
      expect(turns.map(({ status }) => status)).toEqual(['interrupted'])
    }
    note('kills', rounds)
    note('lost', 0)
  },
)

function textsOf(lines: readonly HeardLine[]): string {
  return lines.map(({ what }) => (what.startsWith('words ') ? `${what.slice(6)} ` : '')).join('')
}
