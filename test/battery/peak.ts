import { readFileSync, writeFileSync } from 'node:fs'

/** Preloaded into a program, it writes the program's peak memory in bytes to PEAK_FILE. */
process.on('exit', () => {
  const file = process.env.PEAK_FILE
  if (file) writeFileSync(file, String(peakMemory()))
})

/** The most resident memory that this process has had, in bytes. On Linux, `maxRSS` begins with the peak of
 *  the process that started this one, which shares its memory until the program is loaded. */
export function peakMemory(): number {
  return peakMemoryOf(process.pid) ?? process.resourceUsage().maxRSS * 1_024
}

/** The same for another process that runs. A module of ours inside it would add 15 to 20 MB, for loading
 *  TypeScript. Null if the system is not Linux, and does not tell it. */
export function peakMemoryOf(pid: number): number | null {
  if (process.platform !== 'linux') return null
  const [, kilobytes] = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!
  return Number(kilobytes) * 1_024
}
