import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import type { Holder } from '../../src/core/errors.ts'
import { isDead, isVisible, thisHolder } from '../../src/system/holder.ts'

const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) await kill(child)
})

/** A process that prints its holder and then waits. */
async function another(): Promise<{ readonly child: ChildProcess; readonly holder: Holder }> {
  const module = fileURLToPath(new URL('../../src/system/holder.ts', import.meta.url))
  const script = `
    const { thisHolder } = await import(${JSON.stringify(module)})
    console.log(JSON.stringify(thisHolder()))
    process.stdin.resume()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(child)
  const [line] = await once(child.stdout!, 'data')
  return { child, holder: JSON.parse(String(line)) as Holder }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

describe('holder', () => {
  it('identifies this process, always in the same way, and reports it as alive', () => {
    expect(thisHolder()).toEqual(thisHolder())
    expect(thisHolder()).toMatchObject({ pid: process.pid, host: expect.stringMatching(/^[^ ]+$/) })
    expect(isDead(thisHolder())).toBe(false)
  })

  it('reports a process as dead once it has ended, and not before', async () => {
    const { child, holder } = await another()
    expect(holder).toMatchObject({ host: thisHolder().host, boot: thisHolder().boot, pid: child.pid })
    expect(isDead(holder)).toBe(false)
    await kill(child)
    expect(isDead(holder)).toBe(true)
  })

  it('reports a stopped process as alive', async () => {
    const { child, holder } = await another()
    child.kill('SIGSTOP')
    expect(isDead(holder)).toBe(false)
    child.kill('SIGCONT')
    expect(isDead(holder)).toBe(false)
  })

  it('reports a process as dead if its pid belongs to one that started at another time', async () => {
    const { holder } = await another()
    const reused = process.platform === 'linux'
    expect(isDead({ ...holder, startedAt: holder.startedAt - 1 })).toBe(reused)
    expect(isDead({ ...holder, startedAt: holder.startedAt + 1 })).toBe(reused)
  })

  it('reports every process of an earlier boot as dead', () => {
    expect(isDead({ ...thisHolder(), boot: 'another-boot' })).toBe(true)
    expect(isDead({ ...thisHolder(), boot: 'unknown' })).toBe(false)
  })

  it('never reports a process of another host as dead', () => {
    const gone = { ...thisHolder(), pid: 2 ** 22 + 1 }
    expect(isDead(gone)).toBe(true)
    expect(isDead({ ...gone, host: 'elsewhere', boot: 'another-boot' })).toBe(false)
    // A container of the same machine, whose processes have other pids here.
    expect(isDead({ ...gone, host: 'elsewhere/4026539999' })).toBe(false)
  })

  it('sees processes of this machine, also if it had another name', () => {
    const here = thisHolder()
    const renamed = { ...here, host: here.host.replace(/^[^/]*/, 'former-name') }
    if (process.platform !== 'linux') return
    expect([isVisible(here), isDead(here)]).toEqual([true, false])
    expect([isVisible(renamed), isDead(renamed)]).toEqual([true, false])
    expect(isDead({ ...renamed, pid: 2 ** 22 + 1 })).toBe(true)
    expect(isVisible({ ...here, boot: 'another-boot' })).toBe(false)
    expect(isVisible({ ...here, host: `${here.host}/4026539999` })).toBe(false)
  })

  it('reports a zombie as dead', async () => {
    if (process.platform !== 'linux') return
    // The shell starts a child and then becomes a program that never waits for it.
    const shell = spawn('sh', ['-c', 'sleep 0.05 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    children.push(shell)
    const [line] = await once(shell.stdout!, 'data')
    const pid = Number(String(line))
    const fields = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    const holder = { ...thisHolder(), pid, startedAt: Number(fields()[19]) }
    await expect.poll(() => fields()[0], { timeout: 5_000 }).toBe('Z')
    expect(isDead(holder)).toBe(true)
  })
})
