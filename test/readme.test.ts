import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const readme = readFileSync('README.md', 'utf8')

it('shows the first example as it runs in the gate', () => {
  const [, shown] = /```ts\n([\s\S]*?)```/.exec(readme) ?? []
  expect(shown).toBe(readFileSync('examples/04-agent.ts', 'utf8'))
})

it('links only to files that are there', () => {
  const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map(match => match[1]!)
  expect(links.length).toBeGreaterThan(5)
  expect(links.filter(link => !existsSync(link))).toEqual([])
})

it('names every entry of the package', () => {
  const { exports, version } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, string>
    version: string
  }
  for (const entry of Object.keys(exports)) {
    if (entry !== './package.json') expect(readme).toContain(`\`${entry.replace('.', 'skein')}\``)
  }
  expect(readme).toContain(`skein-${version}.tgz`)
})
