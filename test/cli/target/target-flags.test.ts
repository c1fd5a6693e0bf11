import { describe, expect, it } from 'vitest'
import { parse } from '../../../src/cli/command-line/parse-args.ts'
import { prompt } from '../../../src/cli/commands/index.ts'
import { wishesOf } from '../../../src/cli/target/target-flags.ts'

describe('flags', () => {
  const wishes = (...argv: readonly string[]) => wishesOf(parse(prompt, [...argv, '--', 'hello']))

  it('that contradict each other are refused', () => {
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
    for (const pair of pairs) expect(() => wishes(...pair)).toThrow('contradict each other')
    for (const wrong of ['--session=', '--resume=', '--with-context', '--bogus', '--model'])
      expect(() => wishes(wrong)).toThrow()
  })

  it('that do not are taken as they are', () => {
    const none = { goOn: null, isNew: false, incognito: false, name: null, resume: null, force: false }
    expect(wishes()).toEqual(none)
    expect(wishes('-c')).toEqual({ ...none, goOn: '' })
    expect(wishes('-c', 'q2w6nb', '--force')).toEqual({ ...none, goOn: 'q2w6nb', force: true })
    expect(wishes('-n', '--session', 'work')).toEqual({ ...none, isNew: true, name: 'work' })
    expect(wishes('-G', '-n')).toEqual({ ...none, incognito: true, isNew: true })
  })
})
