import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import tty from 'node:tty'
import { codeFileName, encodeCode } from '../../src/cli/start/code-file.ts'
import { runBundle } from '../../src/cli/start/run-bundle.ts'
import { openStore } from '../../src/stores/open.ts'
import { bundleHashOf } from './bundle.ts'

/** Runs the most used commands on a temporary store and saves the code that V8 has compiled for them next to
 *  the bundle. A separate process, whose output is discarded: `node compile.ts <main.cjs>`. */

const bundle = process.argv[2]!
const folder = dirname(bundle)
const place = mkdtempSync(join(tmpdir(), 'skein-build-'))
try {
  Object.assign(process.env, { HOME: place, XDG_CONFIG_HOME: place, XDG_STATE_HOME: place })
  const db = join(place, 'conversations.db')
  const id = await makeStore(db)
  const { exports, compiled } = runBundle(folder, null)
  const commands = [
    ['ls', '--all'],
    ['show', id],
    ['search', '--all', 'bridge'],
    ['--model', 'scripted', 'Which bridge is the longest?'],
  ]
  for (const output of ['pipe', 'terminal']) {
    if (output === 'terminal') pretendTerminal()
    for (const words of commands) {
      process.argv = [process.execPath, bundle, ...words, '--db', db]
      await exports.main()
      if (process.exitCode) throw new Error(`skein ${words.join(' ')}: exit ${process.exitCode}`)
    }
  }
  const name = codeFileName(bundleHashOf(folder))
  writeFileSync(join(folder, name), encodeCode({ commands: [], scripts: compiled() }))
} finally {
  rmSync(place, { recursive: true, force: true })
}

/** Makes the output look like a terminal to the command, so that the code for terminals is compiled too. */
function pretendTerminal(): void {
  Object.assign(process.env, { PAGER: 'cat', TERM: 'xterm', LANG: 'C.UTF-8' })
  Object.assign(fs, { fstatSync: () => ({ isCharacterDevice: () => true, rdev: 0 }) })
  Object.assign(tty, { isatty: (fd: number) => fd !== 0 })
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
