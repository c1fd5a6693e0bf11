import { writeFileSync } from 'node:fs'

/** Preloaded into a program, it writes the program's peak memory in bytes to PEAK_FILE. */
process.on('exit', () => {
  const file = process.env.PEAK_FILE
  if (file) writeFileSync(file, String(process.resourceUsage().maxRSS * 1_024))
})
