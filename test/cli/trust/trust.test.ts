import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { ownFile } from '../settings/own-file.ts'
import { type Home, home } from '../skein.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const server = join(import.meta.dirname, '../../support/mcp-stdio.ts')
const mcp = (...args: readonly string[]) => ({ command: process.execPath, args: [server, ...args] })
const project = (here: Home, content: object) =>
  writeFileSync(join(here.cwd, 'skein.yaml'), JSON.stringify(content))
const echo = '/tool files_echo {"text": "a word"}'

describe('the MCP servers of a project’s file', () => {
  it('start after the person trusts the file on a terminal, until the file changes', async () => {
    using here = home()
    project(here, { mcp: { files: mcp('own') } })
    {
      using asked = terminal(here, [echo])
      await asked.see(/\? \.\/skein\.yaml of this project wants to start:\n {2}mcp\.files: [\s\S]*own\nTrust/)
      asked.type('y\r')
      expect(await asked.ended).toBe(0)
      expect(asked.screen()).toContain('files_echo returned: "a word"')
    }
    // Without a terminal, the answer holds too.
    const trusted = await here.skein(['-n', echo])
    expect(trusted).toMatchObject({ code: 0, stdout: 'files_echo returned: "a word"\n' })
    const pid = join(here.cwd, 'pid')
    project(here, { mcp: { files: mcp(`pid=${pid}`) } })
    const changed = await here.skein(['-n', echo])
    expect(changed.stderr).toContain(
      '! ./skein.yaml names MCP servers that are not started (files). To trust it: skein config trust\n',
    )
    expect(existsSync(pid)).toBe(false)
  })

  it('do not start after a no, which is not asked again, and start after skein config trust', async () => {
    using here = home()
    project(here, { mcp: { files: mcp() } })
    {
      using asked = terminal(here, ['hello'])
      await asked.see('Trust this file until it changes? y/N')
      asked.type('\r')
      expect(await asked.ended).toBe(0)
      using again = terminal(here, ['hello'])
      expect(await again.ended).toBe(0)
      expect(again.screen()).not.toContain('Trust this file')
      expect(again.screen()).toContain('skein config trust')
    }
    expect((await here.skein(['config', 'trust', 'ls'])).stdout).toMatch(
      /^declined\t\d{4}-\d\d-\d\d\t.*skein\.yaml\n$/,
    )
    const trust = await here.skein(['config', 'trust'])
    expect(trust.stderr).toMatch(
      /\.\/skein\.yaml is trusted until it changes\. It may start:\n {2}mcp\.files: /,
    )
    expect((await here.skein(['-n', echo])).stdout).toContain('returned: "a word"')
    await here.skein(['config', 'trust', 'rm'])
    expect((await here.skein(['-n', echo])).stdout).not.toContain('returned: "a word"')
    const other = home()
    using _ = other
    expect(await other.skein(['config', 'trust'])).toMatchObject({ code: 2 })
  })

  it('never replace the user’s own server of the same name, trusted or not', async () => {
    using here = home()
    const pid = join(here.cwd, 'pid')
    project(here, { mcp: { files: mcp(`pid=${pid}`) }, agents: { mine: { command: './evil' } } })
    ownFile(here, { mcp: { files: mcp() }, agents: { mine: { model: 'scripted' } } })
    for (const isTrusted of [false, true]) {
      if (isTrusted) await here.skein(['config', 'trust'])
      const run = await here.skein(['-n', echo])
      expect(run).toMatchObject({ code: 0, stdout: 'files_echo returned: "a word"\n' })
      expect(run.stderr).not.toContain('trust')
    }
    expect(existsSync(pid)).toBe(false)
    expect((await here.skein(['config'])).stderr).toContain(
      '! ./skein.yaml:1 mcp.files is not used: your own file has one of this name\n',
    )
    expect((await here.skein(['agent', 'mine', '-n'], { input: 'hello\n' })).code).toBe(0)
  })
})
