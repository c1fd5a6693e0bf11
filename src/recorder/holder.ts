import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Holder } from '../core/errors.ts'
import { sha256Hex } from '../core/hash.ts'

let cached: Holder | undefined

/** Who this process is, as stored with the turns that it holds. */
export function thisHolder(): Holder {
  cached ??= {
    host: hostName(),
    boot: read('/proc/sys/kernel/random/boot_id') ?? unknownBoot,
    pid: process.pid,
    startedAt: startOf(process.pid)?.startedAt ?? Math.round(Date.now() - process.uptime() * 1_000),
  }
  return cached
}

/** True only if that process is surely dead: it was on this host, and the host has been started anew since, or no
 *  process has its number, or the one that has began at another time. Of another host nothing is sure. */
export function isDead(holder: Holder): boolean {
  const here = thisHolder()
  if (holder.host !== here.host) return false
  if (holder.boot !== here.boot) return holder.boot !== unknownBoot && here.boot !== unknownBoot
  if (!exists(holder.pid)) return true
  const found = startOf(holder.pid)
  if (found === null) return false
  return found.ended || found.startedAt !== holder.startedAt
}

export function isSame(a: Holder | null, b: Holder): boolean {
  return a?.host === b.host && a.boot === b.boot && a.pid === b.pid && a.startedAt === b.startedAt
}

/** Where nothing tells one start of the machine from another. */
const unknownBoot = 'unknown'

/** The first namespace of process numbers, that of the machine itself, has the same number on every Linux. */
const machineNamespace = 'pid:[4026531836]'

/** More than the name: machines are cloned, and containers share a name but not their process numbers. What must
 *  never happen is that a living process elsewhere is taken for a dead one of ours. */
function hostName(): string {
  const machine = read('/etc/machine-id')
  const numbers = namespace()
  const marks = [
    // The id itself is said to be confidential.
    machine ? sha256Hex(`skein:${machine}`).slice(0, 8) : '',
    numbers === null || numbers === machineNamespace ? '' : numbers.replace(/\D/g, ''),
  ]
  return [hostname() || 'localhost', ...marks.filter(mark => mark !== '')].join('/')
}

function namespace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return null // not Linux
  }
}

/** When a process began, in ticks since the machine did, and whether it has ended and waits for its parent to
 *  notice. Null where that cannot be read. */
function startOf(pid: number): { readonly startedAt: number; readonly ended: boolean } | null {
  const text = read(`/proc/${pid}/stat`)
  if (text === null) return null
  // The name stands in brackets and may hold anything, brackets too.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const startedAt = Number(fields[19])
  return Number.isSafeInteger(startedAt) ? { startedAt, ended: /^[ZXx]$/.test(fields[0]!) } : null
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Anything but "no such process" means that there is one.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return null // not Linux, or hidden from us
  }
}
