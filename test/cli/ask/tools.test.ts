import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { home } from '../skein.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const server = join(import.meta.dirname, '../../support/mcp-stdio.ts')

const configuration = (...args: readonly string[]) =>
  `mcp:\n  files:\n    command: ${JSON.stringify(process.execPath)}\n    args: ${JSON.stringify([server, ...args])}\n`

describe('tools of the configuration', () => {
  it('let the model search and read earlier conversations of the project, and no others', async () => {
    using here = home()
    const other = join(here.cwd, 'other')
    mkdirSync(join(other, '.git'), { recursive: true })
    await here.skein(['-q', 'the gateway certificate is a secret'], { cwd: other })
    const [foreign] = JSON.parse((await here.skein(['ls', '--json'], { cwd: other })).stdout)
    writeFileSync(join(here.cwd, 'skein.yaml'), 'tools:\n  recall: on\n')
    await here.skein(['-q', 'the gateway certificate is reloaded at 02:00'])
    const [own] = JSON.parse((await here.skein(['ls', '--json'])).stdout)
    const result = async (call: string) => {
      await here.skein(['-n', '-q', `/tool ${call}`])
      return (await here.skein(['show', '--json'])).stdout
    }
    const found = await result('search_conversations {"query": "certificate"}')
    expect(found).toContain('reloaded at 02:00')
    expect(found).not.toContain('secret')
    expect(await result(`read_conversation {"id": "${own.id}"}`)).toContain('reloaded at 02:00')
    const refused = await result(`read_conversation {"id": "${foreign.id}"}`)
    expect(refused).toContain('there is no id')
    expect(refused).not.toContain('secret')
    expect((await here.skein(['config'])).stdout).toMatch(/^tools\.recall\ton\t.*skein\.yaml:2$/m)
    writeFileSync(join(here.cwd, 'skein.yaml'), 'tools:\n  recall: off\n')
    expect(await result('search_conversations {"query": "certificate"}')).not.toContain('reloaded at 02:00')
  })

  it('give tasks to subagents, whose runs are listed as traces', async () => {
    using here = home()
    writeFileSync(
      join(here.cwd, 'skein.yaml'),
      [
        'subagents:',
        '  reader:',
        '    description: Reads long texts',
        '    model: scripted',
        '  costly:',
        '    description: Needs a key',
        '    model: opus',
        '',
      ].join('\n'),
    )
    const run = await here.skein(['/tool reader {"task": "my name is Ada"}'])
    expect(run).toMatchObject({ code: 0 })
    expect(run.stdout).toContain('Nice to meet you, Ada.')
    expect(run.stderr).toMatch(/^! the subagent costly is left out: .*ANTHROPIC_API_KEY/m)
    const traces = JSON.parse((await here.skein(['ls', '--traces', '--label', 'reader', '--json'])).stdout)
    expect(traces).toHaveLength(1)
    expect(traces[0]).toMatchObject({ kind: 'subagent', directory: here.cwd })
    writeFileSync(join(here.cwd, 'skein.yaml'), 'subagents:\n  reader:\n    model: scripted\n')
    const wrong = await here.skein(['hello'])
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toContain('subagents.reader')
  })
})

describe('tools of MCP servers', () => {
  it('come from the user’s own configuration; a call is printed in one line, and the server stops with the run', async () => {
    using here = home()
    const folder = join(here.env.XDG_CONFIG_HOME!, 'skein')
    mkdirSync(folder, { recursive: true })
    const pid = join(here.cwd, 'pid')
    writeFileSync(join(folder, 'skein.yaml'), configuration(`pid=${pid}`))
    const run = await here.skein(['/tool files_echo {"text": "a word"}'])
    expect(run).toMatchObject({ code: 0, stdout: 'files_echo returned: "a word"\n' })
    expect(run.stderr).toMatch(/\n {2}files_echo {2}a word · a word · [\d.]+ m?s\nsaved /)
    const shown = await here.skein(['show'])
    expect(shown.stdout).toMatch(/^- files_echo: a word · a word · [\d.]+ m?s$/m)
    expect(() => process.kill(Number(readFileSync(pid, 'utf8')), 0)).toThrow('ESRCH')

    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('/tool files_echo {"text": "in a chat"}\r')
    await chat.seeNext('files_echo returned: "in a chat"')
    chat.type('/quit\r')
    expect(await chat.ended).toBe(0)
    expect(() => process.kill(Number(readFileSync(pid, 'utf8')), 0)).toThrow('ESRCH')
  })

  it('are not started from a project’s configuration, and a failed server is not an error', async () => {
    using here = home()
    const pid = join(here.cwd, 'pid')
    writeFileSync(join(here.cwd, 'skein.yaml'), configuration(`pid=${pid}`))
    const run = await here.skein(['hello'])
    expect(run.code).toBe(0)
    expect(run.stderr).toContain(
      '! ./skein.yaml names MCP servers that are not started (files). To trust it: skein config trust\n',
    )
    expect(existsSync(pid)).toBe(false)
    const folder = join(here.env.XDG_CONFIG_HOME!, 'skein')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'skein.yaml'), configuration('broken').replace('files', 'db'))
    const broken = await here.skein(['hello'])
    expect(broken.code).toBe(0)
    expect(broken.stderr).toMatch(/^! .*db/m)
  })
})
