import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readProse } from './support/rules/english.ts'

const root = join(import.meta.dirname, '..')
const pages = readProse().filter(({ path }) => path.endsWith('.md'))

/** A path in the repository, in backticks. */
const named = /`((?:src|test|scripts|bench|examples|docs)\/[\w./-]*)`/g

/** A path that shows how the engines split words, and a folder that exists only after an installation. */
const absent = ['src/foo_bar.ts', 'bench/node_modules']

describe('the hand-written pages', () => {
  it('are found', () => expect(pages.length).toBeGreaterThan(25))

  it('name only files and folders that exist', () => {
    const missing = pages.flatMap(({ path, text }) =>
      [...text.matchAll(named)]
        .map(([, name]) => name!)
        .filter(name => !absent.includes(name) && !existsSync(join(root, name)))
        .map(name => `${path}: ${name}`),
    )
    expect(missing).toEqual([])
  })

  it('link only to files that exist', () => {
    const broken = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target]) => target!)
        .filter(target => !existsSync(join(root, dirname(path), target)))
        .map(target => `${path}: ${target}`),
    )
    expect(broken).toEqual([])
  })

  it('show the example of a program as it is in the code', () => {
    const [, example] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(root, 'docs/architecture.md'), 'utf8'))!
    expect(readFileSync(join(root, 'src/stores/programs/branches.ts'), 'utf8')).toContain(example)
  })
})
