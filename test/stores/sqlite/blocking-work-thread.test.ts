import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

const source = join(import.meta.dirname, '../../../src/stores/sqlite/blocking-work-thread.ts')

it.each([
  ['that has only started it', 'startThread()'],
  ['that has used it', "await askThread('release', { writer: 0 }, { isIdle: false })"],
])('the thread does not keep a process alive %s', { timeout: 30_000 }, async (_, use) => {
  const program = `
    const { askThread, startThread } = await import(${JSON.stringify(source)})
    ${use}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' })
  onTestFinished(() => void child.kill('SIGKILL'))
  // A thread without work ends after a minute.
  expect(await once(child, 'exit')).toEqual([0, null])
})
