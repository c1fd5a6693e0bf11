import { describe, expect, it } from 'vitest'
import type { Command } from '../../src/cli/command-line/command.ts'
import { commands } from '../../src/cli/commands/index.ts'
import { commandHelp, helpOverview } from '../../src/cli/help.ts'

const named = (name: string): Command => commands.find(command => command.name === name)!

describe('the help', () => {
  it('fits 80 columns', () => {
    for (const text of [helpOverview(), ...commands.map(one => commandHelp(one))]) {
      expect(text.split('\n').filter(line => line.length > 80)).toEqual([])
    }
  })

  it('breaks no word in a terminal of 40 columns', () => {
    for (const text of [helpOverview(40), ...commands.map(one => commandHelp(one, 40))]) {
      const words = new Set(text.split(/\s+/))
      const long = text.split('\n').filter(line => line.length > 40)
      // Only a flag with its value, or a single word, may be longer than a row.
      expect(long.filter(line => !/^\s*(?:-\w, )?(?:--)?\S+(?: \S+)?$/.test(line))).toEqual([])
      for (const word of ['conversation', 'interrupted', 'message'])
        for (let n = 4; n < word.length; n++)
          expect(words.has(word.slice(0, n)) && words.has(word.slice(n))).toBe(false)
    }
  })

  it('lists every command once, with the exit codes and the version', () => {
    const groups = helpOverview().split('\n\n')[2]!
    const listed = groups.replace(/^(Talk|Look|Keep|Set up)/gm, '').split(/\s+/)
    const words = new Set(commands.map(({ name }) => name.split(' ', 1)[0]!))
    expect(listed.filter(Boolean).sort()).toEqual([...words].sort())
    expect(helpOverview()).toContain(
      'Exit: 0 ok, 1 failure, 2 usage, 3 not found, 4 conflict, 130 interrupted\n',
    )
    expect(helpOverview()).toMatch(/^ {2}-V, --version/m)
  })

  it('starts with at least two examples, each beginning with its command', () => {
    for (const { name, examples } of commands) {
      expect(examples.length, name).toBeGreaterThanOrEqual(2)
      expect(
        examples.some(([typed]) => typed.includes(`skein ${name}`)),
        name,
      ).toBe(true)
    }
  })

  it('omits --json if a command has none, and groups aliases by noun', () => {
    for (const name of ['chat', 'resume', 'completion'])
      expect(commandHelp(named(name))).not.toContain('--json')
    expect(commandHelp(named('ls'))).toContain('--json')
    expect(commandHelp(named('show'))).toContain(
      '\nAlso:  skein conversation print|show|view, skein sessions print|show|view\n',
    )
    expect(commandHelp(named('config'))).toContain(
      '\nUsage: skein config [options]\nMore:  skein config get|set|unset|edit|models|keys|trust\n',
    )
  })
})
