// Forks, siblings and the tree. A branch is a pointer: a fork writes one row and copies no message.

import { collectPages, openStore, textOf } from 'skein'
import { buildForest, byActivity, walkForest } from 'skein/tree'

const store = await openStore(':memory:')
const { conversation, branch } = await store.create()

// An append names the branch and the head that the caller has seen.
const asked = await store.append(branch, null, [{ role: 'user', content: 'Find a name for my boat.' }])
const answered = await store.append(branch, asked.head, [{ role: 'assistant', content: 'Otter.' }])
await store.append(branch, answered.head, [{ role: 'user', content: 'Good. And for the dinghy?' }])

// A fork at the question: a second answer. Both stay, each on its branch.
const second = await store.createBranch(conversation.id, asked.head, { name: 'second-try' })
const other = await store.append(second, asked.head, [{ role: 'assistant', content: 'Heron.' }])
await store.append(second, other.head, [{ role: 'user', content: 'Too proud.' }])

// Two writers that saw the same head: the second is refused, or gets a sibling branch on request.
const late = await store.append(branch, answered.head, [{ role: 'user', content: 'Does it float?' }], {
  onConflict: 'fork',
})
console.log(`the second writer is on ${late.branch.name} (${late.outcome})\n`)

for (const { name, active, messagesSinceBase } of await collectPages(page =>
  store.listBranches(conversation.id, page),
)) {
  console.log(`${active ? '*' : ' '} ${name.padEnd(10)} ${messagesSinceBase} messages of its own`)
}

// The tree, built from a flat list; the most recently active branch comes last.
const { items } = await store.listMessages({ conversationId: conversation.id })
console.log()
for (const { tree, depth } of walkForest(byActivity(buildForest(items)))) {
  const { id, role } = tree.node
  console.log(`${'    '.repeat(depth)}${id.slice(0, 6)} [${role.toUpperCase()}] ${textOf(tree.node)}`)
}

await store.close()
