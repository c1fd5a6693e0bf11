/** An application of the store alone. It writes numbered turns to one conversation until it is killed, and
 *  says `acked <n>` after each; the next process starts with the first that is not acknowledged.
 *
 *  node turns.ts <store> <key> <first turn> [early|keyless|piecemeal] */
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { type MessageId, type NewMessage, openStore } from 'skein'

const [target = '', key = '', first = '0', fault = ''] = process.argv.slice(2)
const tell = (line: string) => writeSync(1, `${line}\n`)

const store = await openStore(target)
const { branch } = await store.findOrCreate(key)
let head: MessageId | null = branch.head
tell('ready')
for (let n = Number(first); ; n++) {
  const messages: readonly [NewMessage, NewMessage] = [
    { role: 'user', content: `question ${n}` },
    { role: 'assistant', content: `answer ${n}${n % 7 === 6 ? ' and more'.repeat(3_000) : ''}` },
  ]
  // Faults, for the controls.
  if (fault === 'early') {
    tell(`acked ${n}`)
    await pause(20)
  }
  if (fault === 'piecemeal') {
    head = (await store.append(branch, head, [messages[0]])).head
    await pause(20)
    head = (await store.append(branch, head, [messages[1]])).head
  } else if (fault === 'keyless') {
    head = (await store.append(branch, head, messages)).head
    await pause(20)
  } else {
    head = (await store.append(branch, head, messages, { turn: { key: `turn ${n}`, step: 0 } })).head
  }
  if (fault !== 'early') tell(`acked ${n}`)
  await pause(1)
}
