/** Prints the paths of the conversations with these keys, and the findings of `verify` except notes, as JSON.
 *
 *  node look.ts <store> <key…> */
import { openStore, pathOf, textOf } from 'skein'

const [target = '', ...keys] = process.argv.slice(2)
await using store = await openStore(target)
const findings: string[] = []
await store.verify({
  onFinding: ({ severity, what }) => void (severity !== 'note' && findings.push(`${severity}: ${what}`)),
})
const conversations = []
for (const key of keys) {
  const found = await store.findByKey(key)
  const head = found?.branch.head ?? null
  const path = head === null ? [] : await pathOf(store, head)
  conversations.push({
    key,
    stored: found?.conversation.messages ?? 0,
    path: path.map(message => ({ role: message.role, text: textOf(message) })),
  })
}
console.log(JSON.stringify({ findings, conversations }))
