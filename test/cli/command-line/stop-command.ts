import { spawn } from 'node:child_process'
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import BetterSqlite3 from 'better-sqlite3'
import { expect } from 'vitest'
import { dataFile, storeOf } from '../running.ts'
import { commandLine, type Home, home } from '../skein.ts'
import { heldUp } from './held-up.ts'

/** From a signal to the end of a command, in milliseconds. */
export const mostStopMs = 500

export type StopSignal = 'SIGINT' | 'SIGTERM'

/** A user whose store is locked by this process, for every reader and writer. */
export interface LockedHome extends Disposable {
  readonly here: Home
}

export async function lockedHome(): Promise<LockedHome> {
  const here = home()
  const store = await storeOf(here)
  const { branch } = await store.findOrCreate('cli:long', { title: 'long' })
  await store.append(branch, null, [{ role: 'user', content: 'words' }])
  await store.close()
  writeFileSync(join(here.cwd, 'long.jsonl'), '')
  const lock = new BetterSqlite3(dataFile(here))
  lock.pragma('locking_mode = EXCLUSIVE')
  lock.exec('BEGIN EXCLUSIVE')
  return {
    here,
    [Symbol.dispose]() {
      lock.close()
      here[Symbol.dispose]()
    },
  }
}

/** Starts a command, waits until it waits for the locked store, and sends the signal. Expects its end in
 *  time; a busy machine may delay one attempt, but not three. */
export async function expectStop({ here }: LockedHome, name: string, signal: StopSignal): Promise<number> {
  const given = heldUp[name]
  if (given === undefined || typeof given === 'string') throw new Error(`nothing holds up ${name}`)
  const args = [...name.split(' ').filter(word => word !== ''), ...given]
  const [file, argv] = commandLine(args.map(word => (word === 'STORE' ? dataFile(here) : word)))
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 3 && least > mostStopMs; attempt++) {
    const env = { ...here.env, DISCORD_TOKEN: 'none' }
    const stdin = name === '' ? 'ignore' : 'pipe'
    const child = spawn(file, argv, { cwd: here.cwd, env, stdio: [stdin, 'ignore', 'pipe'] })
    let said = ''
    child.stderr!.setEncoding('utf8').on('data', text => {
      said += text
    })
    let end: number | null = null
    const ended = new Promise<void>(resolve => {
      child.on('exit', () => {
        end = performance.now()
        resolve()
      })
    })
    while (end === null && !hasOpen(child.pid!, dataFile(here))) await pause(5)
    expect([name, end, said]).toEqual([name, null, said])
    const sent = performance.now()
    child.kill(signal)
    await ended
    least = Math.min(least, end! - sent)
    child.stdin?.destroy()
  }
  expect(least, `${name}: from ${signal} to its end`).toBeLessThan(mostStopMs)
  return least
}

/** Whether a process has opened the file. */
function hasOpen(pid: number, file: string): boolean {
  const folder = `/proc/${pid}/fd`
  try {
    return readdirSync(folder).some(name => {
      try {
        return readlinkSync(join(folder, name)).startsWith(file)
      } catch {
        // It was closed meanwhile.
        return false
      }
    })
  } catch {
    return false
  }
}
