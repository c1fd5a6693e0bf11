import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { forgetBuild, isBuilt, rememberBuild, stampOf } from '../scripts/build/source-stamp.ts'

function project(): string {
  const root = mkdtempSync(join(tmpdir(), 'skein-stamp-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const folder of ['src/core', 'scripts/build', 'dist/cli'])
    mkdirSync(join(root, folder), { recursive: true })
  const files = [
    ...['src/core/a.ts', 'scripts/build.ts', 'package.json', 'package-lock.json'],
    ...['tsconfig.json', 'tsconfig.build.json', 'dist/cli/skein.cjs'],
  ]
  for (const file of files) writeFileSync(join(root, file), file)
  return root
}

it('builds only if a source has changed since the last complete build', () => {
  const root = project()
  expect(isBuilt(root)).toBe(false)
  rememberBuild(root, stampOf(root))
  expect(isBuilt(root)).toBe(true)
  writeFileSync(join(root, 'src/core/b.ts'), '')
  expect(isBuilt(root)).toBe(false)
  rmSync(join(root, 'src/core/b.ts'))
  expect(isBuilt(root)).toBe(true)
  utimesSync(join(root, 'src/core/a.ts'), 1, 1)
  expect(isBuilt(root)).toBe(false)
  rememberBuild(root, stampOf(root))
  forgetBuild(root)
  expect(isBuilt(root)).toBe(false)
})

it('builds if dist was deleted', () => {
  const root = project()
  rememberBuild(root, stampOf(root))
  rmSync(join(root, 'dist'), { recursive: true })
  expect(isBuilt(root)).toBe(false)
})

it('does not build again because npm install wrote the same lock file, but if it wrote another', () => {
  const root = project()
  rememberBuild(root, stampOf(root))
  for (const file of ['package.json', 'package-lock.json']) {
    utimesSync(join(root, file), 1, 1)
    expect(isBuilt(root)).toBe(true)
    writeFileSync(join(root, file), `${file}, changed`)
    expect(isBuilt(root)).toBe(false)
    rememberBuild(root, stampOf(root))
  }
})
