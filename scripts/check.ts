import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endCommands, root, run } from './check/command.ts'
import { docExamples } from './check/doc-examples.ts'
import { examples } from './check/examples.ts'
import { lockFileCheck } from './check/lock-file.ts'
import { packageCheck } from './check/package.ts'
import { type Count, closingLine, passed, type Step, StepError, sum } from './check/step.ts'
import { batteries, tests } from './check/tests.ts'

/** A step that is one command. */
function command(name: string, program: string, ...args: readonly string[]): Step {
  return { name, run: () => run(program, args).then(() => passed(1)) }
}

const build: Step = {
  name: 'build',
  async run() {
    rmSync(join(root, 'dist'), { recursive: true, force: true })
    await run(process.execPath, ['scripts/build.ts'])
    return passed(1)
  },
}

/** The whole gate, in order; the steps of a group share nothing and run at the same time. The build precedes
 *  the types: examples import `skein`, which is `dist/`. The tests have the machine for themselves. */
const gate: readonly (readonly Step[])[] = [
  [command('lint', 'biome', 'check', '--error-on-warnings', '.'), build],
  [command('types', 'tsc', '-p', 'tsconfig.json')],
  [tests],
  [packageCheck, docExamples, examples, command('docs', process.execPath, 'scripts/docs.ts', '--check')],
]

/** The steps that run only if they are named. */
const onRequest: readonly Step[] = [batteries, lockFileCheck]
const names = [...gate.flat(), ...onRequest].map(({ name }) => name)

/** Runs the groups up to the first with a failure and returns the counts. */
async function check(groups: readonly (readonly Step[])[], place: string): Promise<Count> {
  let total = passed(0)
  for (const [index, group] of groups.entries()) {
    const counts = await Promise.all(group.map(step => runStep(step, place)))
    total = counts.reduce(sum, total)
    if (total.failed === 0) continue
    const rest = groups.slice(index + 1).flat()
    if (rest.length > 0) console.log(`check: not run: ${rest.map(({ name }) => name).join(', ')}`)
    break
  }
  return total
}

async function runStep(step: Step, place: string): Promise<Count> {
  const start = performance.now()
  const took = () => `${((performance.now() - start) / 1000).toFixed(1)} s`
  const folder = join(place, step.name)
  mkdirSync(folder)
  try {
    const count = await step.run(folder)
    console.log(`check: ${step.name} ok, ${took()}`)
    return count
  } catch (error) {
    console.log(error instanceof Error ? error.message : error)
    console.log(`check: ${step.name} FAILED, ${took()}`)
    return error instanceof StepError ? error.count : { passed: 0, failed: 1, skipped: 0 }
  }
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter(name => !names.includes(name))
if (unknown.length > 0) {
  console.error(`check: no step ${unknown.join(', ')}; there are ${names.join(', ')}`)
  process.exit(2)
}

const place = mkdtempSync(join(tmpdir(), 'skein-check-'))
process.on('exit', () => rmSync(place, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    endCommands()
    process.exit(1)
  })
}

const total = await check(
  wanted.length === 0
    ? gate
    : [...gate, onRequest].map(group => group.filter(({ name }) => wanted.includes(name))),
  place,
)
for (const note of total.notes ?? []) console.log(note)
console.log(closingLine(total))
process.exitCode = total.failed > 0 ? 1 : 0
