// Say something, close the store as if the process had ended, and go on where the talk was left.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore, textOf } from 'skein'

const file = join(mkdtempSync(join(tmpdir(), 'skein-')), 'conversations.db')

let store = await openStore(file)
let { branch } = await store.findOrCreate('cli:default')
await store.append(branch, branch.head, [
  { role: 'user', blocks: 'My name is Ada. Why is the build red?' },
  { role: 'assistant', blocks: 'The test of the parser fails, Ada.' },
])
await store.close()

store = await openStore(file)
branch = (await store.findOrCreate('cli:default')).branch
const { head } = await store.append(branch, branch.head, [
  { role: 'user', blocks: 'Do you remember my name?' },
])
for (const message of await store.path(head)) console.log(`${message.role}: ${textOf(message)}`)
await store.close()

console.log(`\nThe talk survived the restart. It is kept in ${file}`)
