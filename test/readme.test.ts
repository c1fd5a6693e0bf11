import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parseArgs } from '../src/cli/command-line/parse-args.ts'
import { findCommand } from '../src/cli/find-command.ts'

const readme = readFileSync('README.md', 'utf8')

it('shows the first example exactly as the gate runs it', () => {
  const [, shown] = /```ts\n([\s\S]*?)```/.exec(readme) ?? []
  expect(shown).toBe(readFileSync('examples/04-agent.ts', 'utf8'))
})

it('needs few lines in an application: a whole agent, and a host of any agent', () => {
  const lines = (name: string) => readFileSync(`examples/${name}`, 'utf8').split('\n').length
  expect(lines('04-agent.ts')).toBeLessThan(30)
  expect(lines('09-any-agent.ts')).toBeLessThan(30)
})

it('shows only commands that the command line accepts', () => {
  const typed = [...readme.matchAll(/^\$ skein(.*?)(?: {2,}#.*)?$/gm)].map(match => match[1]!)
  expect(typed.length).toBeGreaterThan(4)
  for (const line of typed) {
    const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!)
    const { command, rest } = findCommand(words)
    expect(() => parseArgs(command, rest)).not.toThrow()
  }
})

it('links only to files that exist', () => {
  const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map(match => match[1]!)
  expect(links.length).toBeGreaterThan(5)
  expect(links.filter(link => !existsSync(link))).toEqual([])
})

it('names every entry point of the package', () => {
  const { exports, version } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, string>
    version: string
  }
  for (const entry of Object.keys(exports)) {
    if (entry !== './package.json') expect(readme).toContain(`\`${entry.replace('.', 'skein')}\``)
  }
  expect(readme).toContain(`skein-${version}.tgz`)
})
