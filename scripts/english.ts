import { writeFileSync } from 'node:fs'
import {
  budgetFile,
  countByArea,
  findLongLines,
  findPhrases,
  lowerBudget,
  readBudgets,
  readProse,
} from '../test/support/rules/english.ts'

/** Lists avoided phrases and long lines: of all areas, or of those named (`npm run english -- src/acp docs`).
 *  `--lower` writes the counts as the new budgets, and refuses to raise one. */

const words = process.argv.slice(2)
const areas = words.filter(word => !word.startsWith('--'))
const prose = readProse()
const found = { phrases: findPhrases(prose), longLines: findLongLines(prose) }

for (const [kind, findings] of Object.entries(found)) {
  for (const { area, place } of findings) if (areas.includes(area)) console.log(place)
  const counts = Object.entries(countByArea(findings)).filter(([area]) => !areas[0] || areas.includes(area))
  for (const [area, count] of counts) console.log(`${kind} ${area}: ${count}`)
}

if (words.includes('--lower')) {
  const budgets = readBudgets()
  const lower = {
    phrases: lowerBudget(countByArea(found.phrases), budgets.phrases),
    longLines: lowerBudget(countByArea(found.longLines), budgets.longLines),
  }
  writeFileSync(budgetFile, `${JSON.stringify(lower, null, 2)}\n`)
}
