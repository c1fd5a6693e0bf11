import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { storeCommands } from '../../../src/cli/find-command.ts'
import { hintForStore, skeinCommand } from '../../../src/cli/store/skein-command.ts'
import { findStore } from '../../../src/cli/store/store-location.ts'
import { memoryOutput } from '../memory-output.ts'
import { home } from '../skein.ts'
import { terminal } from '../terminal.ts'

vi.setConfig({ testTimeout: 120_000 })

const contextOf = (db: string | undefined, env: NodeJS.ProcessEnv = {}) => ({
  env,
  json: false,
  err: memoryOutput(),
  location: () => findStore(db, env, '/work'),
})

it('every hint repeats --db, so that it can be pasted (B15)', async () => {
  using here = home()
  const db = ['--db', 'my notes.db'] as const
  const skein = `skein --db 'my notes.db'`
  const said = async (...args: readonly string[]) => (await here.skein([...db, ...args])).stderr
  expect(await said('ls')).toContain(`begin one: ${skein} "…"`)
  const { stdout } = await here.skein([...db, '--json', 'my name is Ada'])
  const { conversation: id, message } = JSON.parse(stdout)
  const short = id.slice(0, 6)
  await here.skein([...db, 'a second question'])
  // Receipts.
  expect(await said('fork', message, '--name', 'side')).toContain(`Continue: ${skein} -c side "…"`)
  expect(await said('reset', id)).toMatch(new RegExp(`kept: ${skein} show ${short}:`))
  expect(await said('rm', short, '--yes')).toContain(`undo: ${skein} rm --undo ${short}`)
  expect(await said('restore', short)).toContain(`continue: ${skein} -c ${short}`)
  using shown = terminal(here, [...db, 'search', '--all', 'Ada'], { columns: 120 })
  expect(await shown.ended).toBe(0)
  expect(shown.screen()).toContain(`read one: ${skein} show `)
  // Errors: of the command, and of the store.
  expect(await said('show', 'nosuchbranch')).toContain(
    `${skein} ls lists conversations, ${skein} search finds messages`,
  )
  expect(await said('rm')).toContain(`All of this project: ${skein} rm --here. Everything: ${skein} rm --all`)
  expect(await said('rm', '--cascade', '--undo', short)).not.toContain('--db')
  expect(await said('erase', message)).toContain('skein erase --help')
  const { stderr } = await here.skein([...db, '--json', 'show', 'nosuchbranch'])
  expect(JSON.parse(stderr).error.hint).toContain(`${skein} ls`)
  // Damage.
  writeFileSync(join(here.cwd, 'my notes.db'), 'x'.repeat(8_192))
  const verified = await here.skein([...db, 'verify'])
  expect(verified.stdout).toContain(`copy the intact part: ${skein} recover ·`)
  expect((await here.skein(['ls'])).stderr).toContain('begin one: skein "…"')
})

it('a store that is found again without the option is not named', () => {
  expect(skeinCommand(contextOf(undefined, { HOME: '/home/ada' }))).toBe('skein')
  expect(skeinCommand(contextOf(undefined, { HOME: '/home/ada', SKEIN_DB: 'a.db' }))).toBe('skein')
  expect(skeinCommand(contextOf('a.db'))).toBe('skein --db a.db')
  expect(skeinCommand(contextOf("it's.db"))).toBe(`skein --db 'it'\\''s.db'`)
})

it('a password of a URL is not repeated', () => {
  const context = contextOf('postgres://ada:secret@db.example/notes')
  expect(skeinCommand(context)).toBe(`skein --db 'postgres://ada:***@db.example/notes'`)
})

it('only commands of hints are changed', () => {
  const hint = (text: string) => hintForStore(text, storeCommands, contextOf('a.db'))
  expect(hint('Try again, or: skein doctor')).toBe('Try again, or: skein --db a.db doctor')
  expect(hint('Restore the schema skein from a backup')).toBe('Restore the schema skein from a backup')
  expect(hint('Update: npm i -g skein')).toBe('Update: npm i -g skein')
  expect(hint('skein rm --help')).toBe('skein rm --help')
  expect(hint('Copy: skein copy a b')).toBe('Copy: skein copy a b')
})
