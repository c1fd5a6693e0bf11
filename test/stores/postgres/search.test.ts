import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ConversationId, MessageId } from '../../../src/core/ids.ts'
import { openPostgresStore, postgresStore } from '../../../src/stores/postgres/index.ts'
import { migrateDatabase } from '../../../src/stores/postgres/migrate.ts'
import { freshDatabase, openPool } from './database.ts'

const url = await freshDatabase()
const pool = openPool(url)
beforeAll(() => migrateDatabase(pool))

/** Times of messages: evenly, in a burst long ago and seldom since, in one millisecond, at random. */
const times = {
  evenly: 'i::bigint * 60000',
  bursts: 'case when i < 2900 then 1000000 + i / 20 else i::bigint * 90000000 end',
  'at once': '5::bigint',
  'all over': '(hashint4(i)::bigint & 2147483647) * 100',
  'to the end of time': '253402300799999 - i::bigint * 1000',
}
const tenants = Object.keys(times)

describe('the newest matches', () => {
  beforeAll(async () => {
    for (const [tenant, at] of Object.entries(times)) {
      const store = await postgresStore(pool, { tenant })
      for (let c = 0; c < 10; c++) {
        const id = `00000000-0000-0000-0000-00000000000${c}` as ConversationId
        const kind = c % 3 === 0 ? 'subagent' : 'main'
        await store.create({ id, kind, ...(c % 2 === 1 && { directory: '/d' }) })
        if (c === 0) await store.trash(id)
      }
      await pool.query(
        `insert into skein.search (tenant, conv, seq, at, form, pairs, tsv)
         select $1, c.id, i, ${at}, 3, array[i % 3, i % 700], array_to_tsvector(array_remove(array['all', case when i % 2 = 0 then 'half' end,
           case when i % 50 = 0 then 'some' end, case when i % 700 = 3 then 'few' end,
           case when i = 1234 then 'one' end, case when i < 600 then 'old' end], null)
           || skein.marks(
             skein.mark('b', $1), ${at}, case when c.directory is not null then skein.mark('d', c.directory) end,
             c.kind))
         from generate_series(0, 2999) i
         join skein.conversations c on c.tenant = $1 and c.id = lpad((i % 10)::text, 32, '0')::uuid`,
        [tenant],
      )
    }
  })

  const asked = fc.record({
    tenant: fc.constantFrom(...tenants),
    match: fc.constantFrom(
      `'all'`,
      `'half'`,
      `'some'`,
      `'few'`,
      `'one'`,
      `'old'`,
      `'none'`,
      `'half' & !'some'`,
      `'o':*`,
      `'all' & 'few'`,
    ),
    pairs: fc.constantFrom(null, null, [1], [2, 2], [1, 103], [699], [800]),
    limit: fc.constantFrom(1, 20, 200, 5_000),
    from: fc.constantFrom(0, 0, 1_000_000, 90_000_000),
    upto: fc.constantFrom(253_402_300_799_999, 253_402_300_799_999, 100_000_000, 1_000_100),
    directory: fc.constantFrom(null, null, '/d', '/other'),
    kind: fc.constantFrom(null, null, 'main', 'subagent'),
  })

  it('are found at any time and with any other condition', async () => {
    await fc.assert(
      fc.asyncProperty(asked, async ({ tenant, match, pairs, limit, from, upto, directory, kind }) => {
        const found = await pool.query(
          'select at, seq from skein.find($1, $2::tsquery, $8::smallint[], $3::bigint, $4::bigint, $5, $6, $7::int)',
          [tenant, match, from, upto, directory, kind, limit, pairs],
        )
        const wanted = await pool.query(
          `select s.at, s.seq from skein.search s join skein.conversations c on c.tenant = s.tenant and c.id = s.conv
           where s.tenant = $1 and s.tsv @@ $2::tsquery and s.at between $3::bigint and $4::bigint
             and c.trashed_at is null and ($5::text is null or c.directory = $5) and ($6::text is null or c.kind = $6)
             and ($7::smallint[] is null or s.pairs @> $7)
           order by s.at desc`,
          [tenant, match, from, upto, directory, kind, pairs],
        )
        // Within a millisecond, any order is correct.
        expect(found.rows.map(row => row.at)).toEqual(wanted.rows.slice(0, limit).map(row => row.at))
        const known = new Set(wanted.rows.map(row => row.seq))
        expect(new Set(found.rows.map(row => row.seq)).size).toBe(found.rows.length)
        expect(found.rows.every(row => known.has(row.seq))).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it.each([
    { when: 'evenly', at: 'i::bigint * 60000' },
    {
      when: 'seldom, then often',
      at: 'case when i < 18000 then i::bigint * 600000 else 10800000000 + i end',
    },
  ])('are found if they are thousands, $when', async ({ when, at }) => {
    const tenant = `thousands ${when}`
    const store = await postgresStore(pool, { tenant })
    const { conversation } = await store.create()
    await pool.query(
      `insert into skein.search (tenant, conv, seq, at, form, pairs, tsv)
       select $1::text, $2::uuid, i, ${at}, 3, '{}', array_to_tsvector(
         array_append(skein.marks(skein.mark('b', $1::text), ${at}, null, 'main'),
           case when hashint4(i) % 3 = 0 then 'third' else 'other' end))
       from generate_series(0, 29999) i`,
      [tenant, conversation.id],
    )
    for (const limit of [2_000, 5_800, 9_000, 20_000]) {
      const found = await pool.query(
        `select seq from skein.find($1, $2::tsquery, null, 0, 253402300799999, null, null, $3::int)`,
        [tenant, `'third'`, limit],
      )
      const wanted = await pool.query(
        `select seq from skein.search where tenant = $1 and tsv @@ 'third'::tsquery order by at desc limit $2`,
        [tenant, limit],
      )
      expect(found.rows).toEqual(wanted.rows)
    }
  })

  it.each([99, 100, 101, 102])('are not those of %i conversations in the trash', async count => {
    const tenant = `trash of ${count}`
    const store = await postgresStore(pool, { tenant, indexing: 'manual' })
    const kept = await store.create()
    await store.append(kept.branch, null, [{ role: 'user', content: 'a word' }])
    for (let n = 0; n < count; n++) {
      const { branch } = await store.create()
      // More than the newest 128, which are read without the index.
      const words = [
        { role: 'user', content: 'a word' } as const,
        { role: 'user', content: 'a word' } as const,
      ]
      await store.append(branch, null, words as [(typeof words)[0]])
      await store.trash(branch.conversationId)
    }
    await store.indexSearch()
    const { items } = await store.search('word')
    expect(items.map(({ conversation }) => conversation.id)).toEqual([kept.conversation.id])
  })
})

describe('a search', () => {
  const say = (blocks: string) => [{ role: 'user', content: blocks }] as const

  it('and its index end while others write faster than they index', async () => {
    const store = await openPostgresStore(url, { tenant: 'busy' })
    let writing = true
    const writers = Array.from({ length: 4 }, async (_, i) => {
      const { branch } = await store.create()
      let head: MessageId | null = null
      for (let n = 0; writing; n++) {
        const many = Array.from(
          { length: 20 },
          () => ({ role: 'user', content: `word${i} and ${n}` }) as const,
        )
        head = (await store.append(branch, head, many as never)).head
      }
    })
    const { branch } = await store.create()
    await store.append(branch, null, say('a needle'))
    expect((await store.search('needle')).items).toHaveLength(1)
    await store.indexSearch()
    writing = false
    await Promise.all(writers)
    await store.close()
  })

  it('does not restore words that are erased while they are indexed', async () => {
    const [one, two] = [
      await postgresStore(pool, { tenant: 'erase' }),
      await postgresStore(pool, { tenant: 'erase' }),
    ]
    const { branch } = await one.create()
    let head: MessageId | null = null
    for (let round = 0; round < 40; round++) {
      const appended = await one.append(branch, head, say(`secret${round}`))
      head = appended.head
      await Promise.all([
        one.indexSearch(),
        one.search(`secret${round}`),
        two.eraseMessages(appended.ids, { by: 'me', reason: 'asked' }),
        two.indexSearch(),
      ])
      expect((await one.search(`secret${round}`)).items).toEqual([])
    }
    const { rows } = await pool.query(`select count(*)::int as n from skein.search where tenant = 'erase'`)
    expect(rows).toEqual([{ n: 0 }])
  })

  it('follows a conversation whose directory changes', async () => {
    const store = await postgresStore(pool, { tenant: 'moving' })
    const { conversation, branch } = await store.create({ directory: '/old' })
    await store.append(branch, null, say('a needle'))
    const found = async (directory: string) => (await store.search('needle', { directory })).items.length
    expect([await found('/old'), await found('/new')]).toEqual([1, 0])
    await store.indexSearch()
    expect([await found('/old'), await found('/new')]).toEqual([1, 0])
    await store.updateConversation(conversation.id, { directory: '/new' })
    expect([await found('/old'), await found('/new')]).toEqual([0, 1])
  })

  it.each([999, 1_000, 1_001])('finds the messages of %i conversations with a tag', async count => {
    const store = await postgresStore(pool, { tenant: `${count} with a tag`, indexing: 'manual' })
    const made = Array.from({ length: count + 1 }, (_, n) => store.create({ tags: n < count ? ['red'] : [] }))
    const conversations = await Promise.all(made)
    // One of them has more messages than are read one by one, so that the index is asked.
    for (const { branch } of [conversations[0]!, conversations[500]!, ...conversations.slice(-2)])
      await store.append(branch, null, say('a common word'))
    await pool.query('update skein.conversations set next_seq = 6000, indexed_seq = 6000 where id = $1', [
      conversations[1]!.conversation.id,
    ])
    await store.indexSearch()
    const found = async (text: string) =>
      (await store.search(text, { tag: 'red' })).items.map(({ conversation }) => conversation.id).sort()
    const expected = [count - 1, 500, 0].map(n => conversations[n]!.conversation.id).sort()
    expect(await found('common')).toEqual(expected)
    expect(await found('comm*')).toEqual(expected)
  })

  it('leaves out a message whose blob is missing', async () => {
    const tenant = 'a missing blob'
    const store = await postgresStore(pool, { tenant, indexing: 'manual' })
    const { branch } = await store.create()
    const first = await store.append(branch, null, say('a pangolin'))
    await store.append(branch, first.head, say(`a pangolin ${'and more '.repeat(3_000)}`))
    await store.indexSearch()
    const found = async () =>
      (await store.search('pangolin')).items.map(({ snippet }) => snippet.text.slice(0, 14))
    expect(await found()).toEqual(['a pangolin and', 'a pangolin'])
    await pool.query('delete from skein.blobs where tenant = $1', [tenant])
    expect(await found()).toEqual(['a pangolin'])
  })

  it('continues after a page whose blobs are missing', async () => {
    const tenant = 'missing blobs'
    const store = await postgresStore(pool, { tenant, indexing: 'manual' })
    const { branch } = await store.create()
    const messages = Array.from({ length: 12 }, (_, i) => {
      const content = `a red pangolin ${i} ${i % 2 ? 'more '.repeat(6_000) : ''}`
      return { role: 'user', content } as const
    })
    await store.append(branch, null, [messages[0]!, ...messages.slice(1)])
    await store.indexSearch()
    await pool.query('delete from skein.blobs where tenant = $1', [tenant])
    for (const text of ['pangolin', '"red pangolin"']) {
      const found: string[] = []
      for (let after: string | null | undefined; after !== null; ) {
        const page = await store.search(text, { limit: 3, ...(after && { after }) })
        found.push(...page.items.map(({ snippet }) => snippet.text.trim()))
        after = page.next
      }
      expect(found, text).toEqual([10, 8, 6, 4, 2, 0].map(i => `a red pangolin ${i}`))
    }
  })

  it('ranks the newest 2,000 matches, also if texts in blobs decide', async () => {
    const store = await postgresStore(pool, { tenant: 'many ranked', indexing: 'manual' })
    const { branch } = await store.create()
    const messages = Array.from({ length: 2_100 }, (_, i) => {
      // Every 50th has its text in a blob; half of them match.
      const words = i % 100 === 50 ? 'heron, grey' : 'grey heron'
      const content = `${words} ${i} ${i % 50 === 0 ? 'more '.repeat(3_300) : ''}`
      return { role: 'user', content } as const
    })
    const { ids } = await store.append(branch, null, [messages[0]!, ...messages.slice(1)])
    await store.indexSearch()
    const found: string[] = []
    for (let after: string | null | undefined; after !== null; ) {
      const options = { limit: 200, order: 'ranked', budgetMs: 600_000 } as const
      const page = await store.search('"grey heron"', { ...options, ...(after && { after }) })
      found.push(...page.items.map(({ message }) => message.id))
      after = page.next
    }
    const matching = ids.filter((_, i) => i % 100 !== 50)
    expect(found.toSorted()).toEqual(matching.slice(-2_000).toSorted())
  })
})
