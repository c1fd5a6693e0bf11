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

/** Waits for the agent to say the ids of these processes. */
const pids = async (handlers: ReturnType<typeof heard>, count: number) => {
  await until(() => handlers.lines.length >= count)
  return handlers.lines.slice(0, count).map(Number)
}

const forEver = 'while true; do sleep 0.05; done'
/** With a child that ignores SIGTERM, as it does itself, and holds its output. */
const withStubborn = `trap '' TERM; (${forEver}) & echo $!`

describe('an agent that is ended', () => {
  it('leaves by itself when its input ends', async () => {
    const { process } = agent('cat; exit 4', 5_000)
    expect(await process.end()).toMatchObject({ code: 4, signal: null })
  })

  it('is asked to, if it does not', async () => {
    const { process } = agent('echo $$; exec sleep 60', 50)
    expect(await process.end()).toMatchObject({ code: null, signal: 'SIGTERM' })
  })

  it('may leave in order when it is asked to, and is heard', async () => {
    const script = `trap 'echo "{}"; exit 5' TERM; echo ready; while true; do sleep 0.01; done`
    const { process, handlers } = agent(script, 1_000)
    await until(() => handlers.lines.length > 0)
    expect(await process.end()).toMatchObject({ code: 5, signal: null })
    expect(handlers.events).toEqual(['ready', '{}', 'end'])
  })

  it('is made to, if it does not want to, with all it has started', async () => {
    const { process, handlers } = agent(`${withStubborn}; echo $$; ${forEver}`, 100)
    const all = await pids(handlers, 2)
    expect(await process.end()).toMatchObject({ code: null, signal: 'SIGKILL' })
    expect(await Promise.all(all.map(lives))).toEqual([false, false])
  })

  it('takes along what it has started, also where it leaves by itself', async () => {
    const { process, handlers } = agent(`${withStubborn}; cat`, 100)
    const [grandchild] = await pids(handlers, 1)
    expect(await process.end()).toMatchObject({ code: 0 })
    expect(await lives(grandchild!)).toBe(false)
  })
})

describe('an agent that has died', () => {
  it('is noticed while something it has started holds its output', async () => {
    const { process, handlers } = agent(`${withStubborn}; exit 6`, 20_000)
    expect(await process.ended).toMatchObject({ code: 6 })
    expect(handlers.events.at(-1)).toBe('end')
    const [grandchild] = handlers.lines.map(Number)
    expect(await lives(grandchild!)).toBe(true)
    globalThis.process.kill(grandchild!, 'SIGKILL')
    await process.end()
  })

  it('leaves nothing behind, also where nobody ends it', async () => {
    const { handlers } = agent(`${withStubborn}; kill -9 $$`, 50)
    const [grandchild] = await pids(handlers, 1)
    await until(async () => !(await lives(grandchild!)))
  })

  it('is heard to its last line, where we were held up and its output is held', async () => {
    // More than is read at once: the rest stays in the pipe.
    const { process, handlers } = agent(`${withStubborn}; seq 20000; kill -9 $$`, 5_000)
    process.pause()
    await until(async () => !(await lives(process.pid!)))
    process.resume()
    // As a large write to the disk does.
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
  it('its agents end with it, and what they have started', async () => {
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
