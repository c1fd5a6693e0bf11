import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { McpServer } from '../../../src/agent/mcp/open-mcp-tools.ts'
import { serveMcp } from '../../support/mcp-http.ts'

const root = join(import.meta.dirname, '../../..')

/** Calls a tool in a process that forgets to close its tools. Returns what it prints before it ends. */
async function forgetful(server: McpServer): Promise<string> {
  const code = `
    import { openMcpTools } from './src/agent/mcp/open-mcp-tools.ts'
    const { tools } = await openMcpTools({ test: ${JSON.stringify(server)} })
    const answer = tools.test_echo.run({ text: 'hello' }, { signal: new AbortController().signal })
    console.log(JSON.stringify(await answer))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  // A process that stays fails the test by its timeout, and must not outlive it.
  const late = setTimeout(() => child.kill('SIGKILL'), 25_000)
  const [exitCode] = await once(child, 'close')
  clearTimeout(late)
  expect(exitCode).toBe(0)
  return said
}

it('lets a process end that forgets to close a server that it started, which ends too', async () => {
  const pidFile = join(await mkdtemp(join(tmpdir(), 'mcp-')), 'pid')
  const args = [join(root, 'test/support/mcp-stdio.ts'), `pid=${pidFile}`]
  // The answer arrived: a call in progress keeps the process alive.
  expect(await forgetful({ command: process.execPath, args })).toContain('hello')
  const pid = Number(readFileSync(pidFile, 'utf8'))
  await expect
    .poll(() => {
      try {
        return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
      } catch {
        return true
      }
    })
    .toBe(true)
})

it('lets a process end that forgets to close a connection over HTTP', async () => {
  await using server = await serveMcp()
  expect(await forgetful({ url: server.url })).toContain('hello')
})
