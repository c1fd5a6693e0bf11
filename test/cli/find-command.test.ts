import { describe, expect, it } from 'vitest'
import { UsageError } from '../../src/cli/command-line/usage-error.ts'
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
    for (const verb of ['list', 'ls']) {
      expect(found('sessions', verb)).toEqual(['ls'])
      for (const noun of ['conversation', 'convo']) expect(found(noun, verb)).toEqual(['tree'])
    }
    for (const noun of ['conversation', 'convo', 'sessions']) {
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
    expect(() => found('sessions', '-q')).toThrow(/^s\w+ needs a verb/)
    expect(found('frok', 'it', 'up')).toEqual(['', 'frok', 'it', 'up'])
  })

  it('takes a short word with two different letters as a prompt: four is not a misspelt fork', () => {
    for (const word of ['four', 'hi', 'ok', 'thanks']) expect(found(word), word).toEqual(['', word])
    // One different letter counts as a typo, whatever the length.
    for (const slip of ['form', 'frok', 'shwo', 'sl', 'serch', 'exprot', 'brnaches', 'completoin']) {
      expect(() => found(slip), slip).toThrow(`there is no command ${slip}`)
    }
  })

  it('has every verb under every noun, and says where a command without a noun is', () => {
    const verbs =
      'print show view tree branches search events stats delete rm fork resume rename label tag set reset export import copy verify recover backup erase trash restore gc'
    for (const noun of ['conversation', 'convo', 'sessions']) {
      for (const verb of verbs.split(' ')) expect(found(noun, verb, 'x')[1], `${noun} ${verb}`).toBe('x')
    }
    const problem = (...argv: readonly string[]) => {
      try {
        return found(...argv).join(' ')
      } catch (error) {
        return error instanceof UsageError ? `${error.message}. ${error.hint}` : String(error)
      }
    }
    expect(problem('sessions', 'doctor')).toBe(
      `doctor is not a verb of ${'sessions'}. It is a command: skein doctor`,
    )
    expect(problem('convo', 'frok', 'x')).toBe('convo has no verb frok. Did you mean skein convo fork?')
    expect(problem('sessions', 'nonsense')).toBe(
      `${'sessions'} has no verb nonsense. skein --help lists them`,
    )
  })

  it('prints help for help and help <command>, and refuses help about anything else', () => {
    const about = (...argv: readonly string[]) => {
      const { command, wantsHelp } = findCommand(argv)
      return wantsHelp ? command.name : `runs ${command.name}`
    }
    expect(about('help')).toBe('')
    expect(about('help', 'fork')).toBe('fork')
    expect(about('help', 'convo', 'rm')).toBe('rm')
    expect(about('fork', '--help')).toBe('fork')
    expect(about('convo', '--help')).toBe('')
    for (const unknown of ['nope', 'me', 'frok'])
      expect(() => about('help', unknown)).toThrow(`there is no command ${unknown}`)
    expect(() => about('help', 'me', 'fix', 'it')).toThrow('there is no command me fix it')
    // One argument is a prompt.
    expect(about('help me fix it')).toBe('runs ')
    expect(about('ask', 'help')).toBe('runs ')
    expect(about('ask', '--', '--help')).toBe('runs ')
  })
})
