import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { CommandError, root, run } from './command.ts'
import { type Count, type Step, StepError } from './step.ts'

interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly FileReport[]
}

/** One test file; times in milliseconds. */
interface FileReport {
  readonly name: string
  readonly status: string
  readonly startTime: number
  readonly endTime: number
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
}

/** A step that runs projects of `vitest.config.ts`, and counts each test. Files with a failed test are run
 *  once more, alone: a machine that stalls is not a fault of the product. What passes only then is named at
 *  the end, because it is a fault of the test. A run that fails without a failed test, for example by an
 *  unhandled rejection, counts as one failure. */
function testStep(name: string, projects: readonly string[]): Step {
  const chosen = projects.map(project => `--project=${project}`)
  return {
    name,
    async run(place) {
      const path = join(place, 'report.json')
      const error = await runTests(path, chosen)
      const report = readReport(path)
      if (!error) return countOf(report)
      const again = report ? filesToRepeat(report) : []
      const second = join(place, 'again.json')
      if (again.length === 0 || (await runTests(second, [...chosen, '--maxWorkers=1', ...again]))) {
        const count = countOf(report)
        throw new StepError(error.message, { ...count, failed: Math.max(1, count.failed) })
      }
      const { passed, failed, skipped, notes = [] } = countOf(report)
      return { passed: passed + failed, failed: 0, skipped, notes: [...notes, ...unstable(report!)] }
    },
  }
}

/** All tests except the batteries. */
export const tests = testStep('tests', ['alone', 'together'])

/** The short form of the batteries. */
export const batteries = testStep('batteries', ['batteries'])

/** Runs tests and writes a report. Returns the failure. */
async function runTests(report: string, args: readonly string[]): Promise<CommandError | null> {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  try {
    await run('vitest', ['run', '--allowOnly=false', ...reporters, ...args], { output: 'shown' })
    return null
  } catch (error) {
    if (error instanceof CommandError) return error
    throw error
  }
}

/** Most files that are run again. More than these have a cause in common. */
const mostRepeated = 2

/** The files to run again. None if a file failed as a whole, or if many failed. */
export function filesToRepeat({ testResults }: Pick<Report, 'testResults'>): readonly string[] {
  const failed = testResults.filter(({ status }) => status === 'failed')
  const hasTests = failed.every(({ assertionResults }) =>
    assertionResults.some(({ status }) => status === 'failed'),
  )
  return hasTests && failed.length <= mostRepeated ? failed.map(({ name }) => relative(root, name)) : []
}

/** Lines that name the tests which failed at first. */
function unstable({ testResults }: Report): readonly string[] {
  return testResults
    .flatMap(file => file.assertionResults)
    .filter(({ status }) => status === 'failed')
    .map(({ fullName }) => `check: UNSTABLE, passed when run again: ${fullName.trim()}`)
}

function readReport(path: string): Report | null {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Report) : null
}

function countOf(report: Report | null): Count {
  if (!report) return { passed: 0, failed: 0, skipped: 0 }
  const all = report.testResults.flatMap(file => file.assertionResults)
  // A tool may be missing on this machine: the skipped tests are listed by name.
  for (const { status, fullName } of all) {
    if (/skipped|pending|todo/.test(status)) console.log(`check: not run: ${fullName.trim()}`)
  }
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    notes: slowest(report.testResults, 10),
  }
}

/** The files that took longest, for those who want the gate to be faster. */
export function slowest(files: readonly FileReport[], count: number): readonly string[] {
  const lines = files
    .map(({ name, startTime, endTime }) => ({
      name: relative(root, name),
      seconds: (endTime - startTime) / 1000,
    }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, count)
    .map(({ name, seconds }) => `check: ${seconds.toFixed(1).padStart(6)} s  ${name}`)
  return lines.length === 0 ? [] : ['check: the slowest test files:', ...lines]
}
