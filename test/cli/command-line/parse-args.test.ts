import { describe, expect, it } from 'vitest'
import type { Command } from '../../../src/cli/command-line/command.ts'
import { parseArgs } from '../../../src/cli/command-line/parse-args.ts'
import { usageLine } from '../../../src/cli/help.ts'

function command(argument: Command['arguments'][number]): Command {
  return {
    name: 'stand',
    group: 'Talk',
    summary: 'stand before another',
    arguments: [argument],
    options: { model: { short: 'm', value: '<name>', help: 'who' } },
    examples: [],
    load: () => Promise.reject(new Error('not run')),
  }
}

const before = command({ name: 'command', optional: true, behind: true })

describe('the words after --', () => {
  it('arrive unchanged, including options and a second --', () => {
    const {
      arguments: words,
      behind,
      options,
    } = parseArgs(before, ['-m', 'x', '--', 'npx', '-m', 'y', '--json', '--', '-q', ''])
    expect(words).toEqual([])
    expect(behind).toEqual(['npx', '-m', 'y', '--json', '--', '-q', ''])
    expect(options).toEqual({ model: 'x' })
  })

  it('may be absent only if they are optional, and not after --', () => {
    expect(parseArgs(before, [])).toMatchObject({ arguments: [] })
    expect(parseArgs(before, [])).not.toHaveProperty('behind')
    expect(() => parseArgs(before, ['--'])).toThrow('stand needs a command behind --')
    const needed = command({ name: 'command', behind: true })
    expect(() => parseArgs(needed, ['-m', 'x'])).toThrow('stand needs a command behind --')
  })

  it('are not mixed with words before --', () => {
    expect(() => parseArgs(before, ['npx', '--', 'agent'])).toThrow('does not know what to do with "npx"')
  })

  it('are shown after -- in the help', () => {
    expect(usageLine(before)).toBe('skein stand [options] [-- <command>…]')
  })
})
