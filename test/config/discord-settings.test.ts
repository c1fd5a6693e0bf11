import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inspectConfig } from '../../src/config/read-config.ts'

async function inspect(yaml: string, env: Record<string, string> = {}) {
  const place = mkdtempSync(join(tmpdir(), 'skein-config-'))
  try {
    mkdirSync(join(place, 'skein'))
    writeFileSync(join(place, 'skein/skein.yaml'), yaml)
    return await inspectConfig(join(place, 'skein'), { HOME: place, XDG_CONFIG_HOME: place, ...env })
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

test('reads the section discord, and DISCORD_TOKEN overrides the token', async () => {
  const yaml = `discord:
  token: from-the-file
  allow:
    people: ['80351110224678912']
  thread_context: inherit
  on_delete: erase
  max_agents: 7
  system: Be brief.`
  const { config, problems } = await inspect(yaml)
  expect(problems).toEqual([])
  expect(config.discord).toEqual({
    token: 'from-the-file',
    allow: { servers: [], channels: [], people: ['80351110224678912'] },
    threadContext: 'inherit',
    onDelete: 'erase',
    maxAgents: 7,
    system: 'Be brief.',
  })
  const { config: other } = await inspect(yaml, { DISCORD_TOKEN: 'from-the-environment' })
  expect(other.discord.token).toBe('from-the-environment')
  expect(other.sources['discord.token']).toEqual({ kind: 'environment', variable: 'DISCORD_TOKEN' })
})

test('names the line of a wrong setting, and refuses an id that YAML has rounded', async () => {
  const { problems } = await inspect(`discord:
  allow:
    servers: [197038439483310086]
    channels: general
    people: [ada]
  thread_context: copy
  max_agents: 0
  tokens: x`)
  expect(problems.map(({ message }) => message)).toEqual([
    './skein.yaml:3 servers: put the id in quotes: YAML rounds long numbers',
    './skein.yaml:4 channels: is not a list',
    './skein.yaml:5 people: is not an id: digits only',
    './skein.yaml:6 thread_context: "copy" is none of fresh, inherit (default fresh)',
    './skein.yaml:7 max_agents: 0 is not a whole number above 0 (default 100)',
    './skein.yaml:8 tokens: unknown setting. Did you mean token? Known here: token, allow, thread_context, on_delete, max_agents, system',
  ])
})
