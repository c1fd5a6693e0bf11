import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { settingPaths } from '../../src/config/find-setting.ts'
import { settingEffects } from './effects.ts'

const root = join(import.meta.dirname, '..')

/** The text of a test: from its name to the next test of the file. */
function testIn(file: string, name: string): string | null {
  const text = readFileSync(join(root, file), 'utf8')
  const parts = text.split(/^(?=\s*(?:it|test)(?:\.each)?\()/m)
  return parts.find(part => part.slice(0, 400).includes(name)) ?? null
}

describe('every setting that is accepted has an effect', () => {
  it('and a test from yaml to effect is named for it, for no other', () => {
    expect(Object.keys(settingEffects)).toEqual(settingPaths())
  })

  it.each(Object.entries(settingEffects))(
    '%s: the test exists and has the setting',
    (path, { file, test }) => {
      const found = testIn(file, test)
      expect(found, `${test} in ${file}`).not.toBeNull()
      expect(found).toMatch(new RegExp(`\\b${path.split('.').at(-1)}\\b`))
    },
  )
})
