import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { catalogue } from '../../../scripts/agents/catalogue.ts'
import { agentPresets } from '../../../src/config/agent-presets.ts'
import { ownFile } from '../settings/own-file.ts'
import { type Home, home } from '../skein.ts'

/** A PATH with these programs, which print their arguments and exit. */
function pathWith(here: Home, ...programs: readonly string[]): string {
  const folder = join(here.cwd, '../bin')
  mkdirSync(folder, { recursive: true })
  for (const name of programs)
    writeFileSync(join(folder, name), `#!/bin/sh\necho "${name} $@" >&2\nexit 7\n`, { mode: 0o755 })
  return folder
}

describe('the presets', () => {
  it('are the agents that npm run agents tests, with the same commands', () => {
    expect(Object.keys(agentPresets).sort()).toEqual(catalogue.map(({ name }) => name).sort())
    for (const { name, command, packages } of catalogue) {
      const preset = agentPresets[name]!
      const typed = [preset.command, ...preset.args]
      // The catalogue adds options that only the test needs.
      if (preset.command !== 'npx') expect(command.slice(0, typed.length), name).toEqual(typed)
      expect(
        packages.map(one => one.replace(/(?<=.)@[^@]*$/, '')),
        name,
      ).toEqual(preset.packages)
    }
  })

  it('start what is installed: the agent, its adapter, or the adapter by npx', async () => {
    using here = home()
    const run = async (name: string, ...programs: readonly string[]) => {
      const PATH = `${pathWith(here, ...programs)}:/usr/bin:/bin`
      return (await here.skein(['agent', name, '-n', '-q'], { input: 'hi\n', env: { PATH } })).stderr
    }
    expect(await run('kimi')).toBe(
      'skein: kimi is not installed: there is no kimi in PATH. npm i -g @moonshot-ai/kimi-code\n',
    )
    expect(await run('kimi', 'kimi')).toContain('kimi: it ended (code 7): kimi acp')
    expect(await run('claude', 'claude', 'npx')).toContain(
      'claude: it ended (code 7): npx -y @agentclientprotocol/claude-agent-acp',
    )
    expect(await run('claude', 'claude-agent-acp')).toContain('claude: it ended (code 7): claude-agent-acp')
    expect(await run('claud')).toContain('there is no agent claud. Did you mean claude? All: skein agents')
  })
})

describe('skein agents', () => {
  it('lists presets and entries, says which are installed, and an own entry replaces a preset', async () => {
    using here = home()
    ownFile(here, {
      agents: { kimi: { command: 'my-kimi', args: ['secret'] }, helper: { model: 'scripted' } },
    })
    writeFileSync(
      join(here.cwd, 'skein.yaml'),
      JSON.stringify({ agents: { copilot: { command: './evil' }, team: { command: 'sh' } } }),
    )
    const env = { PATH: pathWith(here, 'my-kimi', 'copilot') }
    const listed = await here.skein(['agents'], { env })
    expect(listed.code).toBe(0)
    expect(listed.stdout).toContain('kimi\tinstalled\tuser\tmy-kimi\n')
    expect(listed.stdout).toContain('helper\tinstalled\tuser\tscripted\n')
    // A project's file does not replace a preset before it is trusted.
    expect(listed.stdout).toContain('copilot\tinstalled\tpreset\tcopilot --acp --stdio\n')
    expect(listed.stdout).not.toContain('secret')
    const json = JSON.parse((await here.skein(['agents', '--json'], { env })).stdout)
    expect(json.find(({ name }: { name: string }) => name === 'team')).toMatchObject({
      from: 'project',
      trusted: false,
    })
    const refused = await here.skein(['agent', 'team'], { env })
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('To trust it: skein config trust'),
    })
    await here.skein(['config', 'trust'])
    expect((await here.skein(['agents'], { env })).stdout).toContain(
      'copilot\tnot installed\tproject\t./evil\n',
    )
  })
})
