import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { home } from '../skein.ts'

it('searches all projects with the flag that /search names', async () => {
  using here = home()
  const other = join(here.cwd, '../other')
  mkdirSync(other)
  await here.skein(['-q', 'my name is Ada'], { cwd: other })
  const found = await here.skein(['chat'], { input: '/search Ada\n/search --all Ada\n' })
  expect(found.stderr).toContain('--all finds 2')
  expect(found.stdout).toContain('my name is')
})

it('names /model instead of -m where a model has no key', async () => {
  using here = home()
  const { stderr } = await here.skein(['chat'], { input: '/model sonnet\n' })
  expect(stderr).toContain('ANTHROPIC_API_KEY')
  expect(stderr).toContain('/model scripted')
  expect(stderr).not.toContain('-m scripted')
})
