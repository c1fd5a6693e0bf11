import { describe, expect, it } from 'vitest'
import { parseArgs } from '../../../src/cli/command-line/parse-args.ts'
import { prompt } from '../../../src/cli/commands/index.ts'
import { targetFlags } from '../../../src/cli/target/target-flags.ts'

describe('targetFlags', () => {
  const flagsOf = (...argv: readonly string[]) => targetFlags(parseArgs(prompt, [...argv, '--', 'hello']))

  it('refuses contradicting flags', () => {
    const pairs = [
      ['-n', '-c'],
      ['-n', '--resume=abc222'],
      ['--resume=abc222', '-c'],
      ['-c', '--session=x'],
      ['--resume=abc222', '--session=x'],
      ['-G', '-c'],
      ['-G', '--resume=abc222'],
      ['-G', '--session=x'],
      ['-G', '-n', '--with-context'],
    ]
    for (const pair of pairs) expect(() => flagsOf(...pair)).toThrow('contradict each other')
    for (const wrong of ['--session=', '--resume=', '--with-context', '--bogus', '--model'])
      expect(() => flagsOf(wrong)).toThrow()
  })

  it('returns the other flags', () => {
    const none = {
      continueWith: null,
      mayBePrompt: false,
      isNew: false,
      incognito: false,
      name: null,
      resume: null,
      force: false,
    }
    expect(flagsOf()).toEqual(none)
    expect(flagsOf('-c')).toEqual({ ...none, continueWith: '' })
    expect(flagsOf('-c', 'q2w6nb', '--force')).toEqual({ ...none, continueWith: 'q2w6nb', force: true })
    expect(flagsOf('-n', '--session', 'work')).toEqual({ ...none, isNew: true, name: 'work' })
    const alone = (...argv: readonly string[]) => targetFlags(parseArgs(prompt, argv)).mayBePrompt
    expect(alone('-c', 'several words')).toBe(true)
    expect(alone('-c', 'several words', '-m', 'opus')).toBe(true)
    expect(alone('-c', 'several words', 'hello')).toBe(false)
    expect(alone('hello', '-c', 'several words')).toBe(false)
    expect(alone('--continue=several words')).toBe(false)
    expect(alone('-c', 'word')).toBe(false)
    expect(alone('-c')).toBe(false)
    expect(flagsOf('-G', '-n')).toEqual({ ...none, incognito: true, isNew: true })
  })
})
