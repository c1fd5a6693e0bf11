import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../../src/stores/open.ts'
import { type Home, home } from '../skein.ts'
import { stocked, tell } from '../stock.ts'

/** An expired conversation of a task, and the id of it. */
function expired(here: Home, task = 'T-1'): Promise<string> {
  return stocked(here, async store => {
    const { conversation } = await tell(store, { task }, 'Find the leak.', 'It is the cache.')
    await store.updateConversation(conversation.id, { expiresAt: new Date(1_000) })
    return conversation.id
  })
}

/** The user's own configuration. */
function ownConfig(here: Home, yaml: string): void {
  const folder = join(here.env.XDG_CONFIG_HOME!, 'skein')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'skein.yaml'), yaml)
}

describe('conversation.archive', () => {
  it('gets expired conversations before they are moved to the trash, for their owner only (S2-33)', async () => {
    using here = home()
    const archive = join(here.cwd, 'cold', 'storage')
    ownConfig(here, `conversation:\n  archive: ${archive}\n`)
    const id = await expired(here)
    expect((await here.skein(['gc', '--dry-run'])).stderr).toContain('would move to trash')
    expect(readdirSync(archive)).toEqual([])
    expect((await here.skein(['gc'])).stderr).toContain('moved to trash')
    expect(readdirSync(archive)).toEqual([`${id}.jsonl`])
    expect(statSync(archive).mode & 0o777).toBe(0o700)
    expect(statSync(join(archive, `${id}.jsonl`)).mode & 0o777).toBe(0o600)
    // Another sweep changes nothing, and the file can be imported.
    const before = readFileSync(join(archive, `${id}.jsonl`), 'utf8')
    await here.skein(['gc'])
    expect(readFileSync(join(archive, `${id}.jsonl`), 'utf8')).toBe(before)
    const db = join(here.cwd, 'copy.db')
    await here.skein(['import', join(archive, `${id}.jsonl`), '--db', db])
    await using copy = await openStore(db)
    expect(await copy.getConversation(id)).toMatchObject({ task: 'T-1', messages: 2 })
  })

  it('replaces the file of an earlier sweep, and a link in its place, without following it', async () => {
    using here = home()
    const archive = join(here.cwd, 'archive')
    ownConfig(here, `conversation:\n  archive: ${archive}\n`)
    const id = await expired(here)
    mkdirSync(archive)
    const victim = join(here.cwd, 'victim')
    writeFileSync(victim, 'unchanged')
    symlinkSync(victim, join(archive, `${id}.jsonl`))
    expect(await here.skein(['gc'])).toMatchObject({ code: 0 })
    expect(readFileSync(victim, 'utf8')).toBe('unchanged')
    expect(statSync(join(archive, `${id}.jsonl`)).size).toBeGreaterThan(100)
    await here.skein(['restore', id])
    await stocked(here, async store => {
      await store.append(
        await store.getBranch({ conversationId: id, name: 'main' }),
        null,
        [{ role: 'user', content: 'More.' }],
        { onConflict: 'fork' },
      )
      await store.updateConversation(id, { expiresAt: new Date(1_000) })
    })
    await here.skein(['gc'])
    expect(readFileSync(join(archive, `${id}.jsonl`), 'utf8')).toContain('More.')
  })

  it('keeps the conversations if the folder cannot be written', async () => {
    using here = home()
    const id = await expired(here)
    writeFileSync(join(here.cwd, 'file'), '')
    ownConfig(here, `conversation:\n  archive: ${join(here.cwd, 'file')}\n`)
    const refused = await here.skein(['gc'])
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('conversation.archive') })
    ownConfig(here, `conversation:\n  archive: ${join(here.cwd, 'archive')}\n`)
    // A folder in the place of the file.
    mkdirSync(join(here.cwd, 'archive', `${id}.jsonl`), { recursive: true })
    expect(await here.skein(['gc'])).toMatchObject({ code: 2 })
    await stocked(here, async store => expect((await store.getConversation(id)).trashedAt).toBe(null))
  })

  it.each([
    ['a path', '../../outside'],
    ['an absolute path', '/tmp/skein-outside'],
    ['a link', 'link'],
  ])('of a project cannot lead out of the project with %s (R16)', async (_, archive) => {
    using here = home()
    await expired(here)
    symlinkSync('/', join(here.cwd, 'link'))
    writeFileSync(join(here.cwd, 'skein.yaml'), `conversation:\n  archive: ${archive}\n`)
    const { code, stderr } = await here.skein(['gc'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('is outside of')])
  })

  it('of a project is a folder below its file', async () => {
    using here = home()
    const id = await expired(here)
    writeFileSync(join(here.cwd, 'skein.yaml'), 'conversation:\n  archive: old\n')
    expect(await here.skein(['gc'])).toMatchObject({ code: 0 })
    expect(readdirSync(join(here.cwd, 'old'))).toEqual([`${id}.jsonl`])
  })
})
