// Ids are hashes, so an independent program can prove that a history is complete. Here a reader that shares
// no code with us (format-reader.mjs, written from docs/data-model.md) checks a file before and after one
// letter changes.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openStore } from 'skein'

const place = mkdtempSync(join(tmpdir(), 'skein-verify-'))
const file = join(place, 'conversations.db')

try {
  const store = await openStore(file)
  const { branch } = await store.create({ title: 'A month of talk' })
  const { head, ids } = await store.append(branch, null, [
    { role: 'user', content: 'Transfer 10 to Anna. My password is swordfish.' },
    {
      role: 'assistant',
      content: [{ type: 'tool_call', callId: 'c1', name: 'transfer', input: { to: 'Anna', sum: 10 } }],
    },
    { role: 'tool_result', content: [{ type: 'tool_result', callId: 'c1', output: 'ok '.repeat(10_000) }] },
  ])
  await store.append(branch, head, [{ role: 'assistant', content: 'Done.' }])
  // An erased message is not damaged: its content is gone, its place and its hash stay.
  await store.eraseMessages([ids[0]], { by: 'the person', reason: 'a password' })
  await store.close()
  verify(0)

  const db = new DatabaseSync(file)
  db.exec(`UPDATE skein_messages SET body = replace(body, '"sum":10', '"sum":90') WHERE seq = 1`)
  db.close()
  verify(1)
} finally {
  rmSync(place, { recursive: true })
}

function verify(expected: number): void {
  const reader = join(import.meta.dirname, 'format-reader.mjs')
  const { stdout, status } = spawnSync(process.execPath, [reader, file], { encoding: 'utf8' })
  console.log(`${stdout}exit code ${status}\n`)
  if (status !== expected) throw new Error(`expected exit code ${expected}`)
}
