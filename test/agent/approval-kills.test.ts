import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openStore } from '../../src/stores/open.ts'
import { freshDatabase } from '../stores/postgres/database.ts'
import { said } from './build.ts'

/** Runs the child until it reports this, and kills it if that is where it hangs. */
async function run(
  [target, log]: readonly [string, string],
  action: 'ask' | 'resume',
  until: string,
  kills = false,
): Promise<void> {
  const script = join(import.meta.dirname, 'approval-child.ts')
  const child = fork(script, [target, log, action, kills ? until : ''], { stdio: 'inherit' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const reports: string[] = []
  await new Promise<void>((resolve, reject) => {
    child.on('message', report => {
      reports.push(String(report))
      if (report === until) resolve()
    })
    void ended.then(() => reject(new Error(`it ended before ${until}: ${reports.join(', ')}`)))
  })
  if (kills) child.kill('SIGKILL')
  await ended
}

const engines = [
  { engine: 'SQLite', place: async (folder: string) => join(folder, 'kills.db') },
  { engine: 'PostgreSQL', place: async () => freshDatabase() },
]

describe.each(engines)('a process that is killed around an approval, on $engine', ({ place }) => {
  it.each([
    ['while a person is asked', 'asking'],
    ['while the tool runs', 'running'],
    ['after the result', 'stored'],
  ] as const)('runs the tool once: %s', { timeout: 120_000 }, async (_, point) => {
    const folder = mkdtempSync(join(tmpdir(), 'skein-approval-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const files = [await place(folder), join(folder, 'log')] as const
    if (point === 'asking') await run(files, 'ask', 'asking', true)
    else await run(files, 'ask', 'interrupted approval')
    await using store = await openStore(files[0])
    const [waiting, ...others] = await store.listApprovals()
    expect([waiting?.status, others]).toEqual(['pending', []])
    expect(existsSync(files[1])).toBe(false)
    // Another process answers, and another one resumes.
    await store.answerApproval(waiting!.conversationId, waiting!.id, { answer: 'allow' })
    if (point !== 'asking') await run(files, 'resume', point, true)
    await run(files, 'resume', 'complete stop')
    expect(readFileSync(files[1], 'utf8')).toBe('ran\n')
    const lines = await said(store, 'k')
    expect(lines.at(-1)).toBe('assistant: done')
    // The outcome of a call that was killed while it ran is unknown.
    if (point !== 'running') expect(lines[2]).toBe('tool_result: "deployed"')
    expect(await store.listApprovals()).toEqual([])
  })
})
