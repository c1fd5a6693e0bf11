import {
  exceptions,
  findLongLines,
  findPhrases,
  readProse,
  withoutExceptions,
} from '../test/support/rules/english.ts'

/** Lists avoided phrases and long lines: of all files, or of some (`npm run english -- src/acp docs`). */

const words = process.argv.slice(2)
const prose = readProse().filter(({ path }) => !words[0] || words.some(word => path.startsWith(word)))
const places = [
  ...withoutExceptions(findPhrases(prose), exceptions).faults,
  ...findLongLines(prose).map(({ place }) => place),
]
for (const place of places) console.log(place)
process.exitCode = places.length > 0 ? 1 : 0
