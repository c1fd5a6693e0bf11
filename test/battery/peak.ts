import { writeFileSync } from 'node:fs'

/** Loaded before a program, it notes how much memory that took at most, in bytes, where PEAK_FILE says. */
process.on('exit', () => {
  const file = process.env.PEAK_FILE
  if (file) writeFileSync(file, String(process.resourceUsage().maxRSS * 1_024))
})
