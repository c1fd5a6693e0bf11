import { expect, test, vi } from 'vitest'
import { conversationId } from '../../../src/core/ids.ts'
import { home } from '../skein.ts'
import { at, driving, hostile, stocked, tell } from '../stock.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const day = 86_400_000

test('rm moves a conversation to the trash, trash lists it, and restore brings it back (S1-38)', async () => {
  using here = home()
  const { one, two } = await stocked(here, async store => ({
    one: await tell(store, { title: 'Reconnect storm', directory: here.cwd, key: 'cli:one' }, 'hello', 'hi'),
    two: await tell(store, { title: hostile, directory: here.cwd }, 'hello'),
  }))
  const refused = await here.skein(['rm', one.conversation.id])
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toContain('Add --yes')

  const dry = await here.skein(['rm', '--dry-run', one.conversation.id.slice(0, 8), two.conversation.id])
  expect(dry.code).toBe(0)
  expect(dry.stdout).toContain(`would move to trash  ${one.conversation.id}  Reconnect storm · 2 messages`)
  expect(dry.stdout).not.toMatch(driving)
  expect(dry.stderr).toContain('nothing was changed')

  const removed = await here.skein(['conversation', 'rm', '--yes', 'cli:one', two.conversation.id])
  expect(removed).toMatchObject({ code: 0, stdout: '' })
  expect(removed.stderr).toMatch(
    /^2 conversations in the trash until \d+ \w{3} · undo: skein rm --undo \S{6} \S{6}\n$/,
  )

  const listed = await here.skein(['trash'])
  expect(listed.stdout.split('\n')).toHaveLength(3)
  expect(listed.stdout).not.toMatch(driving)
  const json = JSON.parse((await here.skein(['trash', '--json'])).stdout)
  expect(json).toHaveLength(2)
  expect(json.find((row: { id: string }) => row.id === two.conversation.id)).toMatchObject({
    title: hostile,
    messages: 1,
    trashed_at: expect.stringMatching(/Z$/),
    purged_after: expect.stringMatching(/Z$/),
  })

  await stocked(here, store => store.create({ key: 'cli:one' }))
  const back = await here.skein(['rm', '--undo', one.conversation.id.slice(0, 6)])
  expect(back.code).toBe(0)
  expect(back.stderr).toContain('restored "Reconnect storm" · 2 messages · continue: skein -c ')
  expect(back.stderr).toContain('! its key cli:one belongs to another conversation now')
  const also = await here.skein(['restore', '--json', two.conversation.id, one.conversation.id])
  expect(JSON.parse(also.stdout)).toEqual([
    { id: two.conversation.id, restored: true, keys_taken: [] },
    { id: one.conversation.id, restored: false, keys_taken: [] },
  ])
  expect((await here.skein(['trash'])).stdout).toBe('')
})

test('rm deletes a message, and its subtree only with --cascade (S3-49, S3-50, S3-59)', async () => {
  using here = home()
  const { ids, conversation } = await stocked(here, store => tell(store, {}, 'one', 'two', 'three', 'four'))
  const refused = await here.skein(['rm', '--yes', ids[1]!])
  expect(refused.code).toBe(2)
  expect(refused.stderr).toBe(
    `skein: ${ids[1]!.slice(0, 6)} has 2 messages after it. Delete all: skein rm --cascade ${ids[1]!.slice(0, 6)}\n`,
  )
  const last = await here.skein(['sessions', 'delete', '-y', ids[3]!])
  expect(last).toMatchObject({ code: 0, stdout: '' })
  expect(last.stderr).toBe(`deleted 1 message for good\n  main ends with ${ids[2]!.slice(0, 6)} now\n`)
  const both = await here.skein(['rm', '--yes', '--json', ids[1]!, ids[2]!])
  expect(JSON.parse(both.stdout)).toEqual({
    dry_run: false,
    trashed: [],
    deleted_messages: 2,
    deleted_summaries: 0,
    moved: [{ conversation: conversation.id, branch: 'main', from: ids[2], to: ids[0] }],
    missing: [],
    renamed_branches: [],
    erased_events: 0,
    input_lines: 0,
  })
  const all = await here.skein(['rm', '--cascade', '--yes', ids[0]!])
  expect(all.stderr).toBe('deleted 1 message for good\n  main is empty now\n')
})

test('rm of a missing id succeeds with a note (S3-51)', async () => {
  using here = home()
  const { conversation, ids } = await stocked(here, store => tell(store, {}, 'hello'))
  const missing = await here.skein(['rm', 'zzzzzz', 'a'.repeat(32)])
  expect(missing).toMatchObject({ code: 0, stdout: '' })
  expect(missing.stderr).toBe(`not there, or in the trash already: zzzzzz, ${'a'.repeat(32)}\n`)
  await here.skein(['rm', '--yes', conversation.id])
  for (const id of [conversation.id, ids[0]!]) {
    expect(await here.skein(['rm', '--yes', id])).toMatchObject({ code: 0 })
  }
  expect((await here.skein(['rm', '--yes', '-q', 'zzzzzz'])).stderr).toBe('')
  expect(await here.skein(['restore', 'zzzzzz'])).toMatchObject({ code: 3 })
})

test('rm --older-than removes idle conversations, of this directory or of all', async () => {
  using here = home()
  const old = await stocked(
    here,
    async store => [
      await tell(store, { directory: here.cwd }, 'old'),
      await tell(store, { directory: '/elsewhere' }, 'old too'),
    ],
    { source: at(Date.now() - 40 * day) },
  )
  const young = await stocked(here, store => tell(store, { directory: here.cwd }, 'new'))
  const dry = JSON.parse((await here.skein(['rm', '--older-than', '30d', '--dry-run', '--json'])).stdout)
  expect(dry).toMatchObject({ dry_run: true, trashed: [old[0]!.conversation.id] })
  expect((await here.skein(['rm', '--older-than', '30d', '--yes'])).code).toBe(0)
  const none = await here.skein(['rm', '--older-than', '30d', '--yes'])
  expect(none).toMatchObject({ code: 0, stderr: expect.stringMatching(/^nothing here is older than /) })
  expect((await here.skein(['rm', '--older-than', '30d', '--yes', '--all'])).code).toBe(0)
  await stocked(here, async store => {
    expect(await store.countConversations()).toBe(1)
    expect((await store.getConversation(young.conversation.id)).trashedAt).toBeNull()
  })
})

test('contradicting or incomplete arguments are usage errors, and change nothing', async () => {
  using here = home()
  const { conversation } = await stocked(here, store => tell(store, {}, 'hello'))
  const { id } = conversation
  for (const line of [
    ['rm'],
    ['rm', '--older-than', '30d', id],
    ['rm', '--older-than', 'soon', '--yes'],
    ['rm', '--older-than', '30d', '--cascade', '--yes'],
    ['rm', '--all', '--yes', id],
    ['rm', '--undo', '--dry-run', id],
    ['rm', '--yes', 'abc'],
    ['rm', '--yes', `${id}:main`],
    ['rm', '--yes', '--cascadee', id],
    ['restore'],
    ['trash', 'all'],
  ]) {
    const { code, stdout, stderr } = await here.skein(line)
    expect({ line, code, stdout }).toEqual({ line, code: 2, stdout: '' })
    expect(stderr).toMatch(/^skein: [^\n]+\n$/)
  }
  await stocked(here, async store => expect(await store.countConversations()).toBe(1))
})

test('an ambiguous id is refused with its candidates, and printed ids are unique', async () => {
  using here = home()
  const ids = ['abcdef00-0000-4000-8000-000000000001', 'abcdef00-0000-4000-8000-000000000002'] as const
  await stocked(here, async store => {
    for (const id of ids) await tell(store, { id: conversationId(id) }, 'hello')
  })
  const refused = await here.skein(['rm', '--yes', 'abcdef'])
  expect(refused.code).toBe(2)
  for (const id of ids) expect(refused.stderr).toContain(id)
  const removed = await here.skein(['rm', '--yes', ids[0]])
  expect(removed.stderr).toContain(`undo: skein rm --undo ${ids[0]}\n`)
  expect((await here.skein(['rm', '--undo', ids[0]])).code).toBe(0)
})

test('rm --here clears the project and rm --all the store, never without an answer', async () => {
  using here = home()
  await stocked(here, async store => {
    await tell(store, { directory: here.cwd }, 'one', 'two')
    await tell(store, { directory: here.cwd }, 'three')
    await tell(store, { directory: '/elsewhere' }, 'four')
  })
  expect(await here.skein(['rm', '--all'])).toMatchObject({ code: 2, stdout: '' })
  expect(await here.skein(['rm', '--all', '--here'])).toMatchObject({ code: 2 })
  const dry = await here.skein(['rm', '--here', '--dry-run', '--json'])
  expect(JSON.parse(dry.stdout)).toMatchObject({ dry_run: true, deleted_messages: 0 })
  expect(JSON.parse(dry.stdout).trashed).toHaveLength(2)
  expect((await here.skein(['rm', '--here', '--yes'])).stderr).toMatch(/^2 conversations in the trash until /)
  expect((await here.skein(['rm', '--here', '--yes'])).stderr).toBe('there are no conversations here\n')
  expect((await here.skein(['rm', '--all', '--yes'])).stderr).toContain('in the trash until ')
  expect((await here.skein(['ls', '--all', '--json'])).stdout).toBe('[]\n')
})

test('rm --all --project clears the history of one project id, in all directories or here', async () => {
  using here = home()
  await stocked(here, async store => {
    await tell(store, { directory: here.cwd, project: 'gateway' }, 'one', 'two')
    await tell(store, { directory: '/elsewhere', project: 'gateway' }, 'three')
    await tell(store, { directory: here.cwd, project: 'other' }, 'four')
    await tell(store, { directory: here.cwd }, 'five')
  })
  const count = async (...args: readonly string[]) =>
    JSON.parse((await here.skein(['rm', ...args, '--dry-run', '--json'])).stdout).trashed.length
  expect(await count('--all', '--project', 'gateway')).toBe(2)
  expect(await count('--project', 'gateway')).toBe(2)
  expect(await count('--here', '--project', 'gateway')).toBe(1)
  expect(await here.skein(['rm', '--all', '--project', ''])).toMatchObject({ code: 2 })
  using asked = terminal(here, ['rm', '--all', '--project', 'gateway'])
  await asked.see('move 2 conversations with 3 messages of project "gateway" to trash? y/N')
  asked.type('y\r')
  await asked.see('2 conversations in the trash until ')
  expect(await asked.ended).toBe(0)
  expect((await here.skein(['rm', '--all', '--project', 'gateway', '--yes'])).stderr).toBe(
    'there are no conversations of project "gateway" in this store\n',
  )
  expect(JSON.parse((await here.skein(['ls', '--all', '--json'])).stdout)).toHaveLength(2)
})
