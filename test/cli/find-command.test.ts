import { describe, expect, it } from 'vitest'
import { findCommand } from '../../src/cli/find-command.ts'

const found = (...argv: readonly string[]) => {
  const { command, rest } = findCommand(argv)
  return [command.name, ...rest]
}

describe('which command a line means', () => {
  it('is the one it names, also behind options that every command has', () => {
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

  it('is also the one that the origin documents call otherwise (S1-37, S3-56, S3-57, S3-58)', () => {
    expect(found('sessions', 'list')).toEqual(['ls'])
    for (const noun of ['conversation', 'convo']) {
      for (const verb of ['list', 'ls']) expect(found(noun, verb)).toEqual(['tree'])
      for (const verb of ['print', 'show', 'view'])
        expect(found(noun, verb, 'q2w6nb')).toEqual(['show', 'q2w6nb'])
      for (const verb of ['delete', 'rm']) expect(found(noun, verb, 'q2w6nb')).toEqual(['rm', 'q2w6nb'])
    }
  })

  it('is a prompt where it names none, begins with a flag of the prompt, or says so', () => {
    expect(found('why is it red?')).toEqual(['', 'why is it red?'])
    expect(found('why', 'fork')).toEqual(['', 'why', 'fork'])
    expect(found('ask', 'fork')).toEqual(['', 'fork'])
    expect(found('--json', 'ask', 'fork')).toEqual(['', '--json', 'fork'])
    expect(found('-n', 'fork')).toEqual(['', '-n', 'fork'])
    expect(found('--', 'fork')).toEqual(['', '--', 'fork'])
    expect(found('--json')).toEqual(['', '--json'])
    expect(found()).toEqual([''])
  })

  it('is refused for a word that looks like a misspelt command, and for a noun alone', () => {
    expect(() => found('frok')).toThrow('there is no command frok')
    expect(() => found('--db', 'x.db', 'frok', '-q')).toThrow('there is no command frok')
    expect(() => found('convo')).toThrow('convo needs a verb')
    expect(found('frok', 'it', 'up')).toEqual(['', 'frok', 'it', 'up'])
  })

  it('is a prompt for a short word that differs in two letters: four is no misspelt fork', () => {
    for (const word of ['four', 'hi', 'ok', 'thanks']) expect(found(word), word).toEqual(['', word])
    // One letter apart is still taken for a slip, whatever the length.
    for (const slip of ['form', 'frok', 'shwo', 'sl', 'serch', 'exprot', 'brnaches', 'completoin']) {
      expect(() => found(slip), slip).toThrow(`there is no command ${slip}`)
    }
  })

  it('is told about after help, while help with other words is a prompt', () => {
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
