import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { transferShapes } from '../../../src/api/schema/command/transfer.ts'
import { hasOption } from '../../../src/cli/command-line/command.ts'
import type { CommandContext } from '../../../src/cli/command-line/command-context.ts'
import { parseArgs } from '../../../src/cli/command-line/parse-args.ts'
import { findCommand } from '../../../src/cli/find-command.ts'
import type { Output } from '../../../src/cli/output/output.ts'
import { exportNative } from '../../../src/cli/transfer/export-native.ts'
import { createNewFile } from '../../../src/cli/transfer/new-file.ts'
import { openStore } from '../../../src/stores/open.ts'
import { fileOf, recordsOf } from '../../formats/native-file.ts'
import { fillWithEverything, steadySource } from '../../stores/everything.ts'
import { freshDatabase } from '../../stores/postgres/database.ts'
import { type Home, home } from '../skein.ts'
import { stocked, storeFile } from '../stock.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

/** A home whose store has records of every kind, and those records. */
async function furnished(here: Home) {
  return stocked(
    here,
    async store => {
      const sample = await fillWithEverything(store)
      return {
        ...sample,
        truth: fileOf(await recordsOf(store, sample.ids))
          .split('\n')
          .slice(1),
      }
    },
    { source: steadySource(Date.UTC(2026, 0, 1)) },
  )
}

const linesIn = (here: Home, name: string) => readFileSync(join(here.cwd, name), 'utf8').split('\n').slice(1)

/** The output of `--json`, checked against the documented shape. */
function shaped(command: string, at: number, stdout: string): Record<string, unknown> {
  const { error, data } = transferShapes[command]![at]!.schema.safeParse(JSON.parse(stdout))
  expect(error && z.prettifyError(error)).toBeUndefined()
  return data as Record<string, unknown>
}

test('export and import copy a store through a file, and a second import adds nothing', async () => {
  using here = home()
  const { truth, talk } = await furnished(here)
  const out = await here.skein(['export', '--all', '-o', 'all.jsonl', '--json'])
  expect([out.code, out.stderr]).toEqual([0, ''])
  expect(shaped('export', 1, out.stdout)).toMatchObject({ conversations: 9, messages: 39, unreadable: [] })
  expect(linesIn(here, 'all.jsonl').toSorted()).toEqual(truth.toSorted())
  expect(statSync(join(here.cwd, 'all.jsonl')).mode & 0o777).toBe(0o600)

  const first = await here.skein(['--db', 'new.db', 'import', 'all.jsonl'])
  expect([first.code, first.stdout]).toEqual([0, ''])
  expect(first.stderr).toMatch(/^imported 9 conversations, 39 messages, 13 branches · \S+ m?s\n$/)
  const second = await here.skein(['--db', 'new.db', 'import', 'all.jsonl'])
  expect(second.stderr).toMatch(/^nothing new: all 9 conversations were here · \S+ m?s\n$/)
  expect(second.code).toBe(0)

  const one = await here.skein(['--db', 'new.db', 'export', talk, '--native'])
  expect([one.code, one.stderr]).toEqual([0, ''])
  const itself = new RegExp(
    `^{"kind":"conversation","id":"${talk}"|^{"kind":"\\w+","conversationId":"${talk}"`,
  )
  expect(one.stdout.split('\n').slice(1, -2)).toEqual(truth.filter(line => itself.test(line)))
  const back = await here.skein(['--db', 'third.db', 'import', '-', '--json'], { input: one.stdout })
  expect(shaped('import', 0, back.stdout)).toMatchObject({ bad: 0, added: { conversation: 1 }, files: ['-'] })
})

test('bad lines are reported by number, the rest is imported, and the exit code is 1 (R26)', async () => {
  using here = home()
  const { truth } = await furnished(here)
  const lines = ['{"kind":"header","format":"skein","version":"1.0","writtenAt":0,"by":"x"}', ...truth]
  const torn = lines.findIndex(line => line.includes('"kind":"message"'))
  lines[torn] = lines[torn]!.slice(0, 50)
  writeFileSync(join(here.cwd, 'bad.jsonl'), lines.join('\n'))
  const told = await here.skein(['--db', 'a.db', 'import', 'bad.jsonl', '--report', 'report.jsonl'])
  expect(told.code).toBe(1)
  expect(told.stderr).toMatch(/^imported 9 conversations, \d+ messages, \d+ branches · \S+ m?s\n/)
  // The branch that lost its head looks empty.
  expect(told.stderr).toMatch(
    /\n! line \d+: 5e1f0000 came without its branch "main": skein --db a\.db tree 5e1f0000 shows/,
  )
  expect(told.stderr).toMatch(
    /\n! \d+ bad lines skipped: 3, \d+, \d+ and \d+ more · report\.jsonl has them\n {2}line 3: the line is not complete JSON\n$/,
  )
  const report = readFileSync(join(here.cwd, 'report.jsonl'), 'utf8').trimEnd().split('\n')
  expect(JSON.parse(report[0]!)).toEqual({
    file: 'bad.jsonl',
    line: 3,
    reason: 'the line is not complete JSON',
  })
  const json = await here.skein(['--db', 'b.db', 'import', 'bad.jsonl', '--json'])
  expect([json.code, json.stderr]).toEqual([1, ''])
  const { bad, bad_lines } = shaped('import', 0, json.stdout) as { bad: number; bad_lines: object[] }
  expect([bad_lines.length, report.length]).toEqual([bad, bad])
  writeFileSync(join(here.cwd, 'future.jsonl'), lines[0]!.replace('1.0', '2.0'))
  const future = await here.skein(['--db', 'c.db', 'import', 'future.jsonl'])
  expect(future.code).toBe(2)
  expect(future.stderr).toBe(
    'skein: version: the file has format 2.0, this program reads 1: use a newer skein\n',
  )
})

test('copies between SQLite and PostgreSQL end with the same records', async () => {
  using here = home()
  const { ids, truth, talk } = await furnished(here)
  const url = await freshDatabase()
  const file = storeFile(here)
  const there = await here.skein(['copy', file, url])
  expect([there.code, there.stdout]).toEqual([0, ''])
  expect(there.stderr).toMatch(/^copied 9 conversations, 39 messages, 13 branches · \S+ m?s\n$/)
  const back = await here.skein(['copy', url, 'back.db', '--json'])
  expect(shaped('copy', 0, back.stdout)).toMatchObject({ conversations: 9, added: { message: 39 } })
  {
    await using store = await openStore(join(here.cwd, 'back.db'))
    expect(
      fileOf(await recordsOf(store, ids))
        .split('\n')
        .slice(1),
    ).toEqual(truth)
  }
  const again = await here.skein(['copy', 'back.db', file])
  expect(again.stderr).toMatch(/^nothing new: all 9 conversations were there · /)
  const only = await here.skein(['copy', 'back.db', 'one.db', '--only', talk])
  expect(only.stderr).toMatch(/^copied 1 conversation, 9 messages, 1 branch · /)
  await refusesUsage(here, ['copy', 'nowhere.db', 'x.db'])
  await refusesUsage(here, ['copy', 'one.db', 'one.db'])
  await refusesUsage(here, ['copy', 'one.db', join('..', basename(here.cwd), 'one.db')])
  await refusesUsage(here, ['copy', 'one.db'])
  expect(existsSync(join(here.cwd, 'nowhere.db'))).toBe(false)
})

test('only the named file is written, completely, and never over an existing one (R16)', async () => {
  using here = home()
  const { blobs } = await furnished(here)
  const kept = join(here.cwd, 'kept.jsonl')
  writeFileSync(kept, 'mine')
  symlinkSync(kept, join(here.cwd, 'link.jsonl'))
  symlinkSync(join(here.cwd, 'elsewhere.jsonl'), join(here.cwd, 'loose.jsonl'))
  mkdirSync(join(here.cwd, 'out'))
  for (const [name, why] of [
    ['kept.jsonl', 'already exists'],
    ['link.jsonl', 'already exists'],
    ['loose.jsonl', 'already exists'],
    ['kept.jsonl/x.jsonl', 'there is no folder'],
    ['/dev/null', 'is not a regular file'],
    ['nowhere/x.jsonl', 'there is no folder'],
  ] as const) {
    await refusesUsage(here, ['export', '--all', '--native', '-o', name], why)
  }
  expect((await here.skein(['export', '--all', '-o', 'kept.jsonl'])).code).toBe(2)
  // A command line cannot contain NUL.
  expect(() => createNewFile('nul\0', true)).toThrow('cannot contain NUL')
  expect(readFileSync(kept, 'utf8')).toBe('mine')
  // A link is replaced, not followed.
  expect((await here.skein(['export', '--all', '-o', 'link.jsonl', '--force'])).code).toBe(0)
  expect(readFileSync(kept, 'utf8')).toBe('mine')
  // The file name is made from a title that tries to leave the folder.
  await stocked(here, store => store.updateConversation(blobs, { title: '../../../etc/cron.d/x -rf' }))
  expect((await here.skein(['export', blobs, '--native', '-o', 'out/'])).code).toBe(0)
  expect(readdirSync(join(here.cwd, 'out'))).toEqual([`etc-cron-d-x-rf-${blobs.slice(0, 8)}.jsonl`])
  const before = readdirSync(here.cwd).sort()
  // The file never names a path to write to: its paths are plain text.
  expect((await here.skein(['--db', 'in.db', 'import', 'out'])).code).toBe(2)
  const file = readdirSync(join(here.cwd, 'out'))[0]!
  expect((await here.skein(['--db', 'in.db', 'import', `out/${file}`])).code).toBe(0)
  expect(
    readdirSync(here.cwd)
      .filter(name => !name.startsWith('in.db'))
      .sort(),
  ).toEqual(before)
})

test('an interrupted export leaves no file, and an existing file is not lost', async () => {
  using here = home()
  const made = await furnished(here)
  writeFileSync(join(here.cwd, 'old.jsonl'), 'mine')
  await stocked(here, async store => {
    const quiet = { isTerminal: false } as unknown as Output
    const context = { cwd: here.cwd, out: quiet, err: quiet, json: false, quiet: true, now: Date.now }
    const stopped = {
      ...context,
      signal: AbortSignal.abort(new DOMException('stop', 'AbortError')),
    } as CommandContext
    for (const output of ['new.jsonl', 'old.jsonl']) {
      const args = { arguments: [made.talk], options: { output, force: true } } as const
      await expect(exportNative(args, stopped, store)).rejects.toThrow('stop')
    }
  })
  expect(readdirSync(here.cwd)).toEqual(['old.jsonl'])
  expect(readFileSync(join(here.cwd, 'old.jsonl'), 'utf8')).toBe('mine')
  // Another process takes the name while the file is being written.
  using file = createNewFile(join(here.cwd, 'race.jsonl'), false)
  file.write('ours')
  writeFileSync(join(here.cwd, 'race.jsonl'), 'theirs')
  expect(() => file.finish()).toThrow('already exists')
  file[Symbol.dispose]()
  expect(readFileSync(join(here.cwd, 'race.jsonl'), 'utf8')).toBe('theirs')
  expect(readdirSync(here.cwd).sort()).toEqual(['old.jsonl', 'race.jsonl'])
})

test('contradicting arguments are refused before anything is written', async () => {
  using here = home()
  const { talk } = await furnished(here)
  for (const args of [
    ['export', '--native'],
    ['export', '--native', '--all', talk],
    ['export', '--native', '--html', talk],
    ['export', '--native', '--all', '--json'],
    ['export', talk, talk],
    ['export'],
    ['import'],
    ['import', 'nowhere.jsonl'],
    ['import', '.'],
  ]) {
    await refusesUsage(here, args)
  }
  expect((await here.skein(['export', '--native', 'zzzzzzzz'])).code).toBe(3)
  expect(readdirSync(here.cwd)).toEqual([])
})

/** Runs a command in this process, on the home's store. It must throw a UsageError. */
async function refusesUsage(here: Home, argv: readonly string[], why = ''): Promise<void> {
  const output = { isTerminal: false, write: unexpected, line: unexpected } as unknown as Output
  const attempt = async () => {
    const { command, rest } = findCommand(argv)
    const args = parseArgs(command, rest)
    const run = await command.load()
    await using store = await openStore(storeFile(here))
    return await run(args, {
      ...{ cwd: here.cwd, env: {}, now: Date.now, out: output, err: output, canAsk: false, quiet: false },
      ...{ json: hasOption(args, 'json'), signal: new AbortController().signal, stdin: process.stdin },
      location: () => ({ target: storeFile(here), isFile: true, kind: 'user', project: null }),
      store: async () => store,
    })
  }
  await expect(attempt(), argv.join(' ')).rejects.toMatchObject({
    name: 'UsageError',
    message: expect.stringContaining(why),
  })
}

function unexpected(text: string): never {
  throw new Error(`nothing should be said, but: ${text}`)
}

test('import counts a line with several faults once', async () => {
  using here = home()
  writeFileSync(join(here.cwd, 'bad.jsonl'), 'this is not JSON\n')
  const done = await here.skein(['import', 'bad.jsonl'])
  expect(done.code).toBe(1)
  expect(done.stderr).toContain('1 bad line skipped: 1 ')
})
