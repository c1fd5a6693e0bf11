import { readFileSync, writeFileSync } from 'node:fs'

/** Preloaded into a program, it writes the program's peak memory in bytes to PEAK_FILE. */
process.on('exit', () => {
  const file = process.env.PEAK_FILE
  if (file) writeFileSync(file, String(peakMemory()))
})

/** The most resident memory that this process has had, in bytes. On Linux, `maxRSS` begins with the peak of
 *  the process that started this one, which shares its memory until the program is loaded. */
export function peakMemory(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1_024
  const [, kilobytes] = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))!
  return Number(kilobytes) * 1_024
}
