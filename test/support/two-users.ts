import type { Store } from '../../src/core/ports.ts'

/** Stores a conversation for each of two users, which say the same. Their titles are `1` and `2`. */
export async function addTwoUsers(store: Store): Promise<void> {
  for (const user of [1, 2]) {
    const { branch } = await store.create({
      title: `${user}`,
      key: `user:${user}:a`,
      metadata: { user: `u${user}`, n: user },
      tags: [`user-${user}`],
      channel: `channel-${user}`,
      project: `project-${user}`,
      label: `user.${user}.a`,
    })
    await store.append(branch, null, [{ role: 'user', content: 'where is the harbour' }])
  }
}
