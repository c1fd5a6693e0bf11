import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { conversationDefaults } from '../../src/config/config.ts'
import { conversationSettings } from '../../src/config/conversation-settings.ts'
import { inspectConfig } from '../../src/config/read-config.ts'
import { sectionDeclarations } from '../../src/config/sections.ts'

const place = mkdtempSync(join(tmpdir(), 'skein-declarations-'))
afterAll(() => rmSync(place, { recursive: true, force: true }))
let count = 0

/** The problems that the user's own file with this text has. */
async function problemsOf(text: string): Promise<readonly string[]> {
  const folder = join(place, `${count++}`)
  mkdirSync(join(folder, 'skein'), { recursive: true })
  writeFileSync(join(folder, 'skein/skein.yaml'), text)
  const { problems } = await inspectConfig(folder, { HOME: place, XDG_CONFIG_HOME: folder })
  return problems.map(({ message }) => message)
}

describe.each(sectionDeclarations.map(one => [one.path, one] as const))(
  'the declaration of %j',
  (path, one) => {
    it('has an example that can be read, and that has every setting', async () => {
      expect(await problemsOf(one.example)).toEqual([])
      const names = [...one.example.matchAll(/[\w.]+(?=:( |$))/gm)].map(([name]) => name)
      expect(names).toEqual(expect.arrayContaining(Object.keys(one.settings)))
    })

    it('has sentences about every setting', () => {
      for (const [name, { takes, about }] of Object.entries(one.settings)) {
        expect(takes, name).not.toBe('')
        expect(about, name).toMatch(/^[A-Z`].*\.$/s)
        expect(about, 'a row of a table').not.toMatch(/[\n|]/)
      }
      expect(path === '' ? 'A.' : one.about).toMatch(/^[A-Z`].*\.$/s)
    })

    it('has the names that its part of a file may have, and no other is accepted', async () => {
      const parts =
        path === '' ? [] : path.replaceAll('<name>', path.startsWith('providers') ? 'openai' : 'x').split('.')
      // The setting that says which of two declarations applies.
      const deciding =
        'url' in one.settings ? 'url: https://example.org' : 'command' in one.settings ? 'command: x' : ''
      const lines = [...parts.map((part, i) => `${'  '.repeat(i)}${part}:`)]
      for (const line of ['unknown_name: 1', deciding]) lines.push(`${'  '.repeat(parts.length)}${line}`)
      const problems = await problemsOf(lines.join('\n'))
      const known = path === '' ? 'model, providers, models, ' : Object.keys(one.settings).join(', ')
      expect(problems).toContainEqual(
        expect.stringContaining(`unknown_name: unknown setting. Known here: ${known}`),
      )
    })
  },
)

it('declares the defaults that the settings of conversations have', () => {
  for (const { field, name, reader, standard } of conversationSettings) {
    const value = standard === 'none' ? null : reader(standard)
    expect(value, name).toEqual(conversationDefaults[field])
  }
})
