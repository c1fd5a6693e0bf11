// A reader of format 1 that shares no code with Skein. It implements docs/data-model.md in one file and
// proves that the page is sufficient. It verifies bodies, ids and blobs, and exits with 1 if anything is
// damaged. A stored hash that is wrong while the id fits the body can be computed again: exit code 0.
//
//   node examples/format-reader.mjs conversations.db
//   node examples/format-reader.mjs               checks itself against the test vectors of the page

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const sha256 = data => createHash('sha256').update(data).digest()
const hex = bytes => Buffer.from(bytes).toString('hex')

function idOf(parent, role, time, bodyHash) {
  const bits = sha256(`skein:1\n${parent}\n${role}\n${time}\n${bodyHash}\n`).subarray(0, 20)
  const digits = [...bits].map(byte => byte.toString(2).padStart(8, '0')).join('')
  return digits.replace(/.{5}/g, five => 'abcdefghijklmnopqrstuvwxyz234567'[Number.parseInt(five, 2)])
}

/** The references in a body. A caller's own member of that name is stored as `$$blob`. */
function* references(value) {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, '$blob')) yield value
  else for (const member of Object.values(value)) yield* references(member)
}

const damages = []
const repairables = []
const shown = (where, what) => `${where}: ${what}`.replace(/[^ -~]/g, '?')
const report = (where, what) => damages.push(shown(where, what))

function checkFile(path) {
  const db = new DatabaseSync(path, { readOnly: true })
  const sizes = new Map()
  const hasParts = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'skein_blob_parts'`).get()
  const parts = hasParts && db.prepare('SELECT data FROM skein_blob_parts WHERE hash = ? ORDER BY part')
  for (const { hash, size, data } of db.prepare('SELECT hash, size, data FROM skein_blobs').iterate()) {
    sizes.set(hash, size)
    // The row of a blob above 4 MiB has no bytes. They are in its parts.
    const bytes = [data, ...(parts ? parts.all(hash).map(part => part.data) : [])]
    if (hex(sha256(Buffer.concat(bytes))) !== hash) report(`blob ${hash}`, 'the bytes do not match the hash')
    if (bytes.reduce((sum, { length }) => sum + length, 0) !== size)
      report(`blob ${hash}`, 'the size is wrong')
  }
  const messages =
    db.prepare(`SELECT c.id AS conversation, c.purging, m.id, m.seq, m.parent_seq, m.role, m.at,
    m.body_hash, CAST(m.body AS BLOB) AS body, m.erased
    FROM skein_messages m JOIN skein_conversations c ON c.c = m.conv ORDER BY m.conv, m.seq`)
  const conversations = new Map() // the ids of each by seq; parents come before their children
  let count = 0
  for (const { conversation, id, seq, parent_seq, role, at, body, body_hash, ...row } of messages.iterate()) {
    const where = `conversation ${conversation}, message ${seq} (${id})`
    if (!conversations.has(conversation)) conversations.set(conversation, new Map([[-1, conversation]]))
    const ids = conversations.get(conversation).set(seq, id)
    count++
    const above = ids.get(parent_seq)
    const found = body === null ? body_hash : sha256(body)
    // The id covers the hash: if it fits the body, only the stored hash is wrong, and no content is lost.
    const isRight = above !== undefined && id === idOf(above, role, at, hex(found))
    if (body === null) {
      if (row.erased === null) report(where, 'the body is missing, and the message is not erased')
    } else if (!found.equals(body_hash)) {
      if (isRight) repairables.push(shown(where, 'the stored hash is wrong, the body is right'))
      else report(where, 'the body does not match its hash')
    } else {
      for (const { $blob, bytes } of references(JSON.parse(Buffer.from(body).toString()))) {
        if (sizes.get($blob) !== bytes) report(where, `blob ${$blob} is missing, or not of ${bytes} bytes`)
      }
    }
    if (above !== undefined) {
      const isKept = id === idOf(above, role, at, hex(body_hash))
      if (!isRight && !isKept) report(where, 'the id does not match parent, role, time and body')
    } else if (row.purging === 0) report(where, 'the parent is missing')
  }
  db.close()
  return `${count} messages in ${conversations.size} conversations, ${sizes.size} blobs`
}

function checkVectors() {
  const page = readFileSync(new URL('../docs/data-model.md', import.meta.url), 'utf8')
  const vectors = [...page.matchAll(/^```json vector\n(.*?)^```/gms)].map(match => JSON.parse(match[1]))
  for (const { name, body, parent, role, time, sha256: bodyHash, id } of vectors) {
    if (body !== undefined && hex(sha256(body)) !== bodyHash) report(name, 'the body does not match its hash')
    if (idOf(parent, role, time, bodyHash) !== id) report(name, 'the id does not match')
  }
  return `${vectors.length} vectors of docs/data-model.md`
}

const path = process.argv[2]
let checked = 'not read to the end'
try {
  checked = path === undefined ? checkVectors() : checkFile(path)
} catch (error) {
  report(path, error.message)
}
for (const damage of damages) console.log(damage)
for (const one of repairables) console.log(`repairable: ${one}`)
console.log(`${damages.length === 0 ? 'sound' : `DAMAGED (${damages.length} found)`}: ${checked}`)
process.exitCode = damages.length === 0 ? 0 : 1
