import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Holder } from '../core/errors.ts'
import { sha256Hex } from '../core/hash.ts'

let cached: Holder | undefined

/** This process, as it is stored with the turns that it holds. */
export function thisHolder(): Holder {
  cached ??= {
    host: hostName(),
    boot: read('/proc/sys/kernel/random/boot_id') ?? unknownBoot,
    pid: process.pid,
    startedAt: startOf(process.pid)?.startedAt ?? Math.round(Date.now() - process.uptime() * 1_000),
  }
  return cached
}

/** True only if the process is surely dead: it ran on this host, and either the host has rebooted since, or
 *  no process has its pid, or the process with that pid started at another time. A process of another host is
 *  never surely dead. */
export function isDead(holder: Holder): boolean {
  if (!isVisible(holder)) return hasRebooted(holder)
  if (!exists(holder.pid)) return true
  const found = startOf(holder.pid)
  if (found === null) return false
  return found.ended || found.startedAt !== holder.startedAt
}

/** Whether a process would be seen here if it lived: it ran since the last boot of this machine, and its pid
 *  is in the same namespace. A boot id is random, so only this machine has it; the host may have got another
 *  name since. */
export function isVisible(holder: Holder): boolean {
  const here = thisHolder()
  if (holder.boot !== here.boot) return false
  if (here.boot === unknownBoot) return holder.host === here.host
  return namespaceIn(holder.host) === namespaceIn(here.host)
}

/** Whether this host has booted since. Another boot id alone does not tell: it may be another machine. */
function hasRebooted({ host, boot }: Holder): boolean {
  const here = thisHolder()
  return host === here.host && boot !== here.boot && boot !== unknownBoot && here.boot !== unknownBoot
}

/** The pid namespace in a host's name, or '' for that of the machine. The part before it may be missing. */
function namespaceIn(host: string): string {
  const last = host.split('/').at(-1)!
  return host.includes('/') && /^\d{9,}$/.test(last) ? last : ''
}

/** Whether two holders are the same process. */
export function isSame(a: Holder | null, b: Holder): boolean {
  return a?.host === b.host && a.boot === b.boot && a.pid === b.pid && a.startedAt === b.startedAt
}

/** The boot id of systems that have none. */
const unknownBoot = 'unknown'

/** The root pid namespace has the same number on every Linux. */
const machineNamespace = 'pid:[4026531836]'

/** The host name, the machine id and the pid namespace: machines are cloned, and containers share a host name
 *  but not their pids. A living process elsewhere must never be taken for a dead one of this host. */
function hostName(): string {
  const machine = read('/etc/machine-id')
  const numbers = namespace()
  const marks = [
    // machine-id(5) asks to keep the id itself confidential.
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

/** When a process started, in ticks since boot, and whether it is a zombie. Null if that cannot be read. */
function startOf(pid: number): { readonly startedAt: number; readonly ended: boolean } | null {
  const text = read(`/proc/${pid}/stat`)
  if (text === null) return null
  // The process name is in brackets and may contain brackets itself.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const startedAt = Number(fields[19])
  return Number.isSafeInteger(startedAt) ? { startedAt, ended: /^[ZXx]$/.test(fields[0]!) } : null
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Any error other than "no such process" means that the process exists.
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
