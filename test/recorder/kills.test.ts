import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { BranchRef } from '../../src/core/branch.ts'
import type { Message } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import { beginTurn, takeOver } from '../../src/recorder/index.ts'
import { openStore } from '../../src/stores/open.ts'
import { note } from '../battery/note.ts'
import { size } from '../battery/size.ts'
import { engines, freshTarget } from './engines.ts'
import { answer, final, type Line, type Point, points, question, result } from './mortal.ts'

const rounds = size({ gate: 1, full: 20 })

/** Lets a process record a turn, kills it at the given point, and returns its reports up to then. */
async function killedAt(point: Point, target: string, branch: BranchRef): Promise<readonly Line[]> {
  // In the middle of an answer: at a random moment, so not always directly after a write.
  const mercy = point === 'in the middle of an answer' ? 150 + Math.random() * 350 : 0
  return mortal(point, target, branch, line => ('point' in line && line.point === point ? mercy : null))
}

/** Runs the process until a line of it says how long it has left. */
async function mortal(
  point: Point,
  target: string,
  branch: BranchRef,
  left: (line: Line) => number | null,
): Promise<readonly Line[]> {
  const script = fileURLToPath(new URL('mortal.ts', import.meta.url))
  const child = spawn(process.execPath, [script, target, JSON.stringify(branch), point], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: Line[] = []
  const closed = once(child, 'close')
  createInterface({ input: child.stdout }).on('line', line => {
    const said = JSON.parse(line) as Line
    const ms = left(said)
    lines.push(said)
    if (ms !== null) setTimeout(() => child.kill('SIGKILL'), ms)
  })
  const [, signal] = await closed
  expect(signal).toBe('SIGKILL')
  return lines
}

/** The texts and results of a path. */
function wordsOf(messages: readonly Message[]): readonly string[] {
  return messages.map(({ content: blocks }) =>
    blocks.map(block => ('text' in block ? block.text : 'output' in block ? block.output : '')).join(''),
  )
}

/** What must be stored after a kill, without the draft. */
const whole: Record<Point, readonly string[]> = {
  'before the words': [],
  'after the words': [question],
  'in the middle of an answer': [question],
  'before the answer is stored': [question],
  'after the answer is stored': [question, answer],
  'after a tool was started': [question, answer],
  'after a tool has ended': [question, answer, result],
  'before the end': [question, answer, result, final],
  'after the end': [question, answer, result, final],
}

async function stands(store: Store, branch: BranchRef): Promise<readonly Message[]> {
  const { head } = await store.getBranch(branch)
  return head === null ? [] : pathOf(store, head)
}

describe.each(engines)('kill -9 of a process that records on %s', engine => {
  const timeout = 30_000 * rounds

  it.each(points)(
    '%s leaves a conversation that resumes, and loses nothing (R2, R27)',
    { timeout },
    async point => {
      for (let round = 0; round < rounds; round++) await killAndResume(point)
      note('kills', rounds)
      note('lost', 0)
    },
  )

  it('at a random moment leaves a prefix of the turn, with all acknowledged messages (R1)', {
    timeout,
  }, async () => {
    const target = await freshTarget(engine)
    const store = await openStore(target)
    onTestFinished(() => store.close())
    for (let round = 0; round < 4 * rounds; round++) {
      const { branch } = await store.create()
      let first = true
      const lines = await mortal('after the end', target, branch, () => {
        const ms = first ? Math.random() * 300 : null
        first = false
        return ms
      })
      await takeOver(store, branch.conversationId)
      const words = wordsOf(await stands(store, branch))
      const said = whole['after the end']
      const kept = words.findIndex((word, i) => word !== said[i])
      const drafted = kept < 0 ? [] : words.slice(kept)
      expect(drafted.length).toBeLessThanOrEqual(1)
      const told = lines.filter(line => 'stored' in line && line.stored !== 'tool_started').length
      expect(words.length - drafted.length).toBeGreaterThanOrEqual(told)
      expect(
        await collectPages(page => store.listTurns(branch.conversationId, { status: 'open', ...page })),
      ).toEqual([])
    }
    note('kills', 4 * rounds)
    note('lost', 0)
  })

  async function killAndResume(point: Point): Promise<void> {
    const target = await freshTarget(engine)
    const store = await openStore(target)
    onTestFinished(() => store.close())
    const { branch, conversation } = await store.create()
    const lines = await killedAt(point, target, branch)

    // The process is surely dead, so its lease does not have to expire.
    const began = performance.now()
    const turn = await beginTurn(store, branch, { words: [{ role: 'user', content: 'Continue.' }] })
    expect(performance.now() - began).toBeLessThan(20_000)
    expect(turn.forked).toBe(false)
    await turn.add([{ role: 'assistant', content: 'Here I am.' }])
    expect(await turn.end('complete')).toMatchObject({ saved: true })

    const words = wordsOf(await stands(store, branch))
    const kept = whole[point]
    expect(words.slice(0, kept.length)).toEqual(kept)
    expect(words.slice(-2)).toEqual(['Continue.', 'Here I am.'])
    const partly = words.slice(kept.length, -2)
    expectDraft(point, partly, lines)
    for (const line of lines) {
      // Acknowledged messages are stored.
      if ('stored' in line && line.stored !== 'tool_started') expect(words).toContain(line.stored)
    }
    const turns = (await collectPages(page => store.listTurns(conversation.id, page))).map(
      ({ status }) => status,
    )
    const dead = point === 'before the words' ? [] : [point === 'after the end' ? 'complete' : 'interrupted']
    expect(turns).toEqual([...dead, 'complete'])
    const events = await collectPages(page =>
      store.listEvents(conversation.id, { types: ['tool_started'], ...page }),
    )
    expect(events).toHaveLength(points.indexOf(point) >= points.indexOf('after a tool was started') ? 1 : 0)
    await store.close()
  }
})

/** An answer without the pieces of the last 200 ms, as one message. */
function expectDraft(point: Point, partly: readonly string[], lines: readonly Line[]): void {
  if (point !== 'in the middle of an answer' && point !== 'before the answer is stored') {
    expect(partly).toEqual([])
    return
  }
  const drafted = lines.filter(line => 'drafted' in line)
  const arrived = drafted.map(line => line.drafted).join('')
  // By its own clock: while the process does not run, nothing arrives.
  const last = drafted.at(-1)!.at
  const due = drafted.filter(line => last - line.at > 200).map(line => line.drafted)
  const [kept = '', ...more] = partly
  expect(more).toEqual([])
  expect(arrived.startsWith(kept)).toBe(true)
  expect(kept.length).toBeGreaterThanOrEqual(due.join('').length)
}
