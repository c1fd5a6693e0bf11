import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startAgent } from '../../../src/acp/process/start-agent.ts'
import { heard, lives, until } from '../wire/heard.ts'

function agent(script: string, graceMs: number) {
  const handlers = heard()
  return { handlers, process: startAgent({ command: 'sh', args: ['-c', script] }, { graceMs, ...handlers }) }
}

/** Waits until the agent has printed this many process ids. */
const pids = async (handlers: ReturnType<typeof heard>, count: number) => {
  await until(() => handlers.lines.length >= count)
  return handlers.lines.slice(0, count).map(Number)
}

const forEver = 'while true; do sleep 0.05; done'
/** With a child that ignores SIGTERM, as the agent does, and holds its output open. */
const withStubborn = `trap '' TERM; (${forEver}) & echo $!`

describe('an agent process that is ended', () => {
  it('exits by itself when its stdin is closed', async () => {
    const { process } = agent('cat; exit 4', 5_000)
    expect(await process.end()).toMatchObject({ code: 4, signal: null })
  })

  it('gets SIGTERM if it does not', async () => {
    const { process } = agent('echo $$; exec sleep 60', 50)
    expect(await process.end()).toMatchObject({ code: null, signal: 'SIGTERM' })
  })

  it('may exit in order after SIGTERM, and its last lines arrive', async () => {
    const script = `trap 'echo "{}"; exit 5' TERM; echo ready; while true; do sleep 0.01; done`
    const { process, handlers } = agent(script, 1_000)
    await until(() => handlers.lines.length > 0)
    expect(await process.end()).toMatchObject({ code: 5, signal: null })
    expect(handlers.events).toEqual(['ready', '{}', 'end'])
  })

  it('gets SIGKILL if it does not, with all its children', async () => {
    const { process, handlers } = agent(`${withStubborn}; echo $$; ${forEver}`, 100)
    const all = await pids(handlers, 2)
    expect(await process.end()).toMatchObject({ code: null, signal: 'SIGKILL' })
    expect(await Promise.all(all.map(lives))).toEqual([false, false])
  })

  it('takes its children along, also if it exits by itself', async () => {
    const { process, handlers } = agent(`${withStubborn}; cat`, 100)
    const [grandchild] = await pids(handlers, 1)
    expect(await process.end()).toMatchObject({ code: 0 })
    expect(await lives(grandchild!)).toBe(false)
  })
})

describe('an agent process that has died', () => {
  it('is detected while one of its children holds its output open', async () => {
    const { process, handlers } = agent(`${withStubborn}; exit 6`, 20_000)
    expect(await process.ended).toMatchObject({ code: 6 })
    expect(handlers.events.at(-1)).toBe('end')
    const [grandchild] = handlers.lines.map(Number)
    expect(await lives(grandchild!)).toBe(true)
    globalThis.process.kill(grandchild!, 'SIGKILL')
    await process.end()
  })

  it('leaves no children behind, also if it was not ended by us', async () => {
    const { handlers } = agent(`${withStubborn}; kill -9 $$`, 50)
    const [grandchild] = await pids(handlers, 1)
    await until(async () => !(await lives(grandchild!)))
  })

  it('is read to its last line, also if our process was blocked and the output is held open', async () => {
    // More than one read returns: the rest stays in the pipe.
    const { process, handlers } = agent(`${withStubborn}; seq 20000; kill -9 $$`, 5_000)
    process.pause()
    await until(async () => !(await lives(process.pid!)))
    process.resume()
    // As a large write to the disk would.
    const then = performance.now() + 400
    while (performance.now() < then);
    await process.ended
    globalThis.process.kill(Number(handlers.lines[0]), 'SIGKILL')
    await process.end()
    expect(handlers.lines).toHaveLength(20_001)
    expect(handlers.events.at(-1)).toBe('end')
  })
})

describe('when our own process exits', () => {
  it('its agents end with it, and their children', async () => {
    const script = join(import.meta.dirname, 'exits.ts')
    const ours = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
    const said = (await ours.stdout.setEncoding('utf8').toArray()).join('')
    if (ours.exitCode === null) await once(ours, 'exit')
    expect(ours.exitCode).toBe(7)
    const all = said.trim().split('\n').map(Number)
    expect(all).toHaveLength(2)
    for (const pid of all) await until(async () => !(await lives(pid)))
  })
})
