import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { walk } from '../scripts/docs/http-walk.ts'
import { home } from './cli/skein.ts'
import { startServed } from './server/served.ts'

it('docs/http.md: every step of the walk with curl works against skein serve', {
  timeout: 120_000,
}, async () => {
  using here = home()
  await using service = await startServed(here)
  const page = readFileSync(join(import.meta.dirname, '../docs/http.md'), 'utf8').split('\n## ', 1)[0]!
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block!)
  expect(blocks.slice(1)).toEqual(walk.map(({ typed }) => `${typed}\n`))
  expect(blocks[0]).toContain('http://127.0.0.1:4717')
  const script = blocks.map(block => `${block}\necho; echo @@@\n`).join('')
  const { stdout } = await promisify(execFile)(
    'bash',
    ['-euc', script.replaceAll('http://127.0.0.1:4717', service.url)],
    { cwd: here.cwd, env: here.env },
  )
  const outputs = stdout.split('@@@\n').slice(1)
  for (const [i, { about, shows }] of walk.entries()) {
    let rest = outputs[i]!
    for (const part of shows) {
      expect(rest, about).toContain(part)
      rest = rest.slice(rest.indexOf(part) + part.length)
    }
  }
})
