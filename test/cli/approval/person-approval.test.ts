import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { type Home, home } from '../skein.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const server = join(import.meta.dirname, '../../support/mcp-stdio.ts')

/** Configures a server whose tool `files_picture` is not read-only. */
function configure(here: Home, more = ''): void {
  const folder = join(here.env.XDG_CONFIG_HOME!, 'skein')
  mkdirSync(folder, { recursive: true })
  const command = `command: ${JSON.stringify(process.execPath)}\n    args: ${JSON.stringify([server])}`
  writeFileSync(join(folder, 'skein.yaml'), `mcp:\n  files:\n    ${command}\n${more}`)
}

const draw = '/tool files_picture {}'

describe('a tool that is not read-only', () => {
  it('is asked for in a chat with one line; other keys decide nothing, and n refuses it', async () => {
    using here = home()
    configure(here)
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type(`${draw}\r`)
    await chat.seeNext(/\? files_picture {2}y once · c in this conversation · a always here · n no/)
    chat.type('x')
    chat.type('n')
    await chat.seeNext('did not allow')
    expect(chat.screen()).toContain('n no no')
    chat.type(`${draw}\r`)
    await chat.seeNext('n no')
    chat.type('c')
    await chat.seeNext('yes, in this conversation')
    await chat.seeNext('files_picture returned')
    chat.type(`${draw}\r`)
    await chat.seeNext('files_picture returned')
    chat.type('/quit\r')
    expect(await chat.ended).toBe(0)
    expect(chat.screen().match(/y once/g)).toHaveLength(2)
    const events = await here.skein(['events', '--type', 'permission', '--json'])
    const answers = JSON.parse(events.stdout).events.map(
      (event: { data: { answer: { optionId: string } } }) => event.data.answer.optionId,
    )
    expect(answers).toEqual(['allow_in_conversation', 'reject_once'])
  })

  it('takes a whole word with Enter as an answer, and not as the next message', async () => {
    using here = home()
    configure(here)
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type(`${draw}\r`)
    await chat.seeNext('y once')
    chat.type('yes\r')
    await chat.seeNext('files_picture returned')
    chat.type('essay\r')
    await chat.seeNext('essay')
    chat.type('/quit\r')
    expect(await chat.ended).toBe(0)
    const shown = (await here.skein(['show', '--json'])).stdout
    expect(shown).toContain('essay')
    expect(shown.match(/"role":\s*"user"/g)).toHaveLength(2)
  })

  it('is called off with Ctrl+C, and does not run', async () => {
    using here = home()
    configure(here)
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type(`${draw}\r`)
    await chat.seeNext('y once')
    chat.type('\x03')
    await chat.seeNext('stopped after')
    chat.type('/quit\r')
    expect(await chat.ended).toBe(0)
    expect(chat.screen()).not.toContain('files_picture returned')
  })

  it('is asked for by a single question on a terminal', async () => {
    using here = home()
    configure(here)
    using asked = terminal(here, [draw])
    await asked.see('y once')
    asked.type('y')
    await asked.seeNext('files_picture returned')
    expect(await asked.ended).toBe(0)
  })

  it('does not run without a terminal, and the note names the flag that allows it', async () => {
    using here = home()
    configure(here)
    const refused = await here.skein([draw])
    expect(refused.stdout).toContain('did not allow')
    expect(refused.stderr).toContain(
      '! not allowed: files_picture. There is no terminal to ask on; --allow files_picture allows this tool',
    )
    const allowed = await here.skein(['--allow', 'files_echo,files_picture', draw])
    expect(allowed.stdout).toContain('files_picture returned')
    expect((await here.skein(['--allow', 'all', draw])).stdout).toContain('files_picture returned')
  })

  it('runs if the user’s own file allows it, and not if a project’s file does', async () => {
    using here = home()
    configure(here)
    writeFileSync(join(here.cwd, 'skein.yaml'), 'tools:\n  allow: [files_picture]\n')
    const project = await here.skein([draw])
    expect(project.stdout).toContain('did not allow')
    expect(project.stderr).toContain('sets tools.allow, which counts only in your own file')
    configure(here, 'tools:\n  allow: [files_picture]\n')
    writeFileSync(join(here.cwd, 'skein.yaml'), '')
    expect((await here.skein([draw])).stdout).toContain('files_picture returned')
  })
})
