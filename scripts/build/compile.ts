import fs, { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tty from 'node:tty'
import { minifySync } from 'rolldown/utils'
import { compiledPaths, compiledScript, runCompiled } from '../../src/cli/start/compiled.ts'
import { openStore } from '../../src/stores/open.ts'

/** Runs the most used commands on a temporary store and saves the code that V8 has compiled for them next to
 *  the bundle. A separate process, whose output is discarded: `node compile.ts <main.cjs>`. */

const bundle = process.argv[2]!
const paths = compiledPaths(bundle)
writeFileSync(paths.source, compact(readFileSync(bundle, 'utf8')))
const place = mkdtempSync(join(tmpdir(), 'skein-build-'))
try {
  const db = join(place, 'conversations.db')
  const id = await makeStore(db)
  const script = compiledScript(bundle)
  const { main } = runCompiled(bundle, script)
  const looks = [
    ['ls', '--all'],
    ['show', id],
    ['search', '--all', 'bridge'],
  ]
  for (const output of ['pipe', 'terminal']) {
    if (output === 'terminal') pretendTerminal()
    for (const words of looks) {
      process.argv = [process.execPath, bundle, ...words, '--db', db]
      await main()
      if (process.exitCode) throw new Error(`skein ${words.join(' ')}: exit ${process.exitCode}`)
    }
  }
  writeFileSync(paths.code, script.createCachedData())
} finally {
  rmSync(place, { recursive: true, force: true })
}

/** Makes the output look like a terminal to the command, so that the code for terminals is compiled too. */
function pretendTerminal(): void {
  Object.assign(process.env, { PAGER: 'cat', TERM: 'xterm', LANG: 'C.UTF-8' })
  Object.assign(fs, { fstatSync: () => ({ isCharacterDevice: () => true, rdev: 0 }) })
  Object.assign(tty, { isatty: (fd: number) => fd !== 0 })
}

/** The same program without comments and white space, as one function, in ASCII. Names are kept, because some
 *  of them are visible. */
function compact(source: string): string {
  const { code, errors } = minifySync('main.cjs', source, { compress: false, mangle: false })
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'))
  const ascii = code.replace(
    /[\u0080-\uffff]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `(function (exports, require, module, __filename, __dirname) {${ascii}\n})`
}

async function makeStore(path: string): Promise<string> {
  await using store = await openStore(path)
  const { conversation, branch } = await store.create({ title: 'A bridge' })
  await store.append(branch, null, [
    { role: 'user', content: [{ type: 'text', text: 'Which bridge is the longest?' }] },
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'The **Danyang** bridge:\n\n```js\nlongest()\n```' }],
    },
  ])
  return conversation.id
}
