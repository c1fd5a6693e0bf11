import { describe, expect, it } from 'vitest'
import { findCommand } from '../../src/cli/find-command.ts'

const found = (...argv: readonly string[]) => {
  const { command, rest } = findCommand(argv)
  return [command.name, ...rest]
}

describe('findCommand', () => {
  it('returns the named command, also after common options', () => {
    expect(found('fork', 'q2w6nb')).toEqual(['fork', 'q2w6nb'])
    expect(found('convo', 'fork', 'q2w6nb')).toEqual(['fork', 'q2w6nb'])
    expect(found('--json', '-q', '--db', 'x.db', 'fork', 'q2w6nb')).toEqual([
      'fork',
      '--json',
      '-q',
      '--db',
      'x.db',
      'q2w6nb',
    ])
    expect(found('--db=x.db', 'conversation', 'fork')).toEqual(['fork', '--db=x.db'])
  })

  it('accepts the names of the origin documents (S1-37, S3-56, S3-57, S3-58)', () => {
    expect(found('sessions', 'list')).toEqual(['ls'])
    for (const noun of ['conversation', 'convo']) {
      for (const verb of ['list', 'ls']) expect(found(noun, verb)).toEqual(['tree'])
      for (const verb of ['print', 'show', 'view'])
        expect(found(noun, verb, 'q2w6nb')).toEqual(['show', 'q2w6nb'])
      for (const verb of ['delete', 'rm']) expect(found(noun, verb, 'q2w6nb')).toEqual(['rm', 'q2w6nb'])
    }
  })

  it('returns a prompt without a command name, after a flag of the prompt, and after ask or --', () => {
    expect(found('why is it red?')).toEqual(['', 'why is it red?'])
    expect(found('why', 'fork')).toEqual(['', 'why', 'fork'])
    expect(found('ask', 'fork')).toEqual(['', 'fork'])
    expect(found('--json', 'ask', 'fork')).toEqual(['', '--json', 'fork'])
    expect(found('-n', 'fork')).toEqual(['', '-n', 'fork'])
    expect(found('--', 'fork')).toEqual(['', '--', 'fork'])
    expect(found('--json')).toEqual(['', '--json'])
    expect(found()).toEqual([''])
  })

  it('refuses a word that looks like a misspelt command, and a noun alone', () => {
    expect(() => found('frok')).toThrow('there is no command frok')
    expect(() => found('--db', 'x.db', 'frok', '-q')).toThrow('there is no command frok')
    expect(() => found('convo')).toThrow('convo needs a verb')
    expect(found('frok', 'it', 'up')).toEqual(['', 'frok', 'it', 'up'])
  })

  it('takes a short word with two different letters as a prompt: four is not a misspelt fork', () => {
    for (const word of ['four', 'hi', 'ok', 'thanks']) expect(found(word), word).toEqual(['', word])
    // One different letter counts as a typo, whatever the length.
    for (const slip of ['form', 'frok', 'shwo', 'sl', 'serch', 'exprot', 'brnaches', 'completoin']) {
      expect(() => found(slip), slip).toThrow(`there is no command ${slip}`)
    }
  })

  it('prints help for help and help <command>; help with other words is a prompt', () => {
    const about = (...argv: readonly string[]) => {
      const { command, wantsHelp } = findCommand(argv)
      return wantsHelp ? command.name : `runs ${command.name}`
    }
    expect(about('help')).toBe('')
    expect(about('help', 'fork')).toBe('fork')
    expect(about('help', 'convo', 'rm')).toBe('rm')
    expect(about('fork', '--help')).toBe('fork')
    expect(about('convo', '--help')).toBe('')
    expect(about('help', 'me')).toBe('runs ')
    expect(about('ask', 'help')).toBe('runs ')
    expect(about('ask', '--', '--help')).toBe('runs ')
  })
})
