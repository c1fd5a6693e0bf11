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
  readonly startTime: number
  readonly endTime: number
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
}

/** All tests, counted individually. A run that fails without a failed test, for example by an unhandled
 *  rejection, counts as one failure. */
export const tests: Step = {
  name: 'tests',
  async run(place) {
    const report = join(place, 'report.json')
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
    try {
      await run('vitest', ['run', '--allowOnly=false', ...reporters], { output: 'shown' })
      return countOf(report)
    } catch (error) {
      if (!(error instanceof CommandError)) throw error
      const count = countOf(report)
      throw new StepError(error.message, { ...count, failed: Math.max(1, count.failed) })
    }
  },
}

function countOf(path: string): Count {
  if (!existsSync(path)) return { passed: 0, failed: 0, skipped: 0 }
  const report = JSON.parse(readFileSync(path, 'utf8')) as Report
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
