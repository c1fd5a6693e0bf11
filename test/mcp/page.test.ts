import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, it } from 'vitest'
import { commandLine, home } from '../cli/skein.ts'
import { connectCommand } from './clients.ts'

interface Settings {
  readonly command?: string
  readonly args?: readonly string[]
}

const page = readFileSync('docs/mcp.md', 'utf8')

/** The servers that the page tells an agent to start, by the words before them. */
function serversOnPage(): readonly Settings[] {
  const json = [...page.matchAll(/^```json\n([\s\S]*?)^```/gm)].flatMap(([, text]) => {
    const [servers] = Object.values(JSON.parse(text!) as Record<string, Record<string, Settings>>)
    return Object.values(servers!)
  })
  const toml = [...page.matchAll(/^command = (".*")\nargs = (\[.*\])$/gm)].map(
    ([, command, args]): Settings => ({ command: JSON.parse(command!), args: JSON.parse(args!) }),
  )
  return [...json, ...toml].filter(({ command }) => command !== undefined)
}

it('has settings for five agents that start a working server as they are', async () => {
  for (const name of ['Claude Code', 'Codex', 'Cursor', 'Zed', 'VS Code']) expect(page).toContain(`\n${name}`)
  const servers = serversOnPage()
  expect(servers).toHaveLength(5)
  using here = home()
  const bin = join(here.cwd, '../bin')
  mkdirSync(bin)
  const [node, args] = commandLine([])
  writeFileSync(join(bin, 'skein'), `#!/bin/sh\nexec '${node}' '${args.join("' '")}' "$@"\n`)
  chmodSync(join(bin, 'skein'), 0o755)
  const env = { ...here.env, PATH: [bin, here.env.PATH].join(delimiter) }
  const different = new Map(servers.map(one => [JSON.stringify([one.command, one.args]), one]))
  for (const { command, args: given = [] } of different.values()) {
    await using connected = await connectCommand(command!, given, {
      cwd: here.cwd,
      env,
      generation: '2025-11-25',
    })
    const { tools } = await connected.client.listTools()
    expect(tools.map(({ name }) => name)).toContain('search_conversations')
  }
})
