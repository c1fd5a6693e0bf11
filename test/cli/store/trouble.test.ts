import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { thisHolder } from '../../../src/system/holder.ts'
import { whyNoTmpfs, writeUntilFull } from '../../battery/small-disk.ts'
import { lockFile } from '../../support/lock-file.ts'
import { dataFile, storeOf } from '../running.ts'
import { type Home, home } from '../skein.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

async function told(here: Home, words: string): Promise<string> {
  const { stdout } = await here.skein(['--json', words])
  return JSON.parse(stdout).conversation
}

describe('a store that another process locks', () => {
  it.runIf(process.platform === 'linux')('names the process, the seconds and the file', async () => {
    using here = home()
    const id = await told(here, 'hello')
    using lock = await lockFile(dataFile(here))
    const { code, stderr } = await here.skein(['rename', id, 'other'])
    expect(code).toBe(1)
    expect(stderr).toBe(
      `skein: another process (pid ${lock.pid}) is using the store (5 s): ${dataFile(here)}. Try again, or: skein doctor\n`,
    )
    expect((await here.skein(['ls'])).stdout).toContain('hello')
  })
})

describe('a branch that another process holds', () => {
  it('names the process and how long it may take', async () => {
    using here = home()
    const id = await told(here, 'hello')
    const holder = { host: 'desk/1234', boot: 'b', pid: 4121, startedAt: 1 }
    {
      await using store = await storeOf(here)
      const { branch } = await store.resolve(id)
      await store.append(branch, branch.head, [{ role: 'user', content: 'wait' }], {
        turn: { key: 'k', step: 0, status: 'open', holder },
      })
    }
    const { path } = JSON.parse((await here.skein(['show', id, '--json'])).stdout)
    const { code, stderr } = await here.skein(['rm', '--cascade', '--yes', path[0].id])
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^skein: another process \(pid 4121 on desk\) holds turn "k" for at most \d+ s\. Try again, or: skein doctor\n$/,
    )
  })
})

describe('a turn whose process is dead', () => {
  it.runIf(process.platform === 'linux')('is not shown as live while its lease runs (L18)', async () => {
    using here = home()
    const id = await told(here, 'hello')
    const { pid } = spawnSync(process.execPath, ['-e', ''])
    {
      await using store = await storeOf(here)
      const { branch } = await store.resolve(id)
      const holder = { ...thisHolder(), pid, startedAt: 1 }
      await store.append(branch, branch.head, [{ role: 'user', content: 'are you there?' }], {
        turn: { key: 'k', step: 0, status: 'open', holder },
      })
      await store.putDraft(branch.conversationId, 'k', holder, [{ n: 0, type: 'text', text: 'I am' }])
    }
    const [listed] = JSON.parse((await here.skein(['ls', '--json'])).stdout)
    expect(listed.live).toBe(false)
    using screen = terminal(here, ['show', id])
    expect(await screen.ended).toBe(0)
    expect(screen.screen()).toContain('! not finished')
    expect(screen.screen()).not.toContain('live')
  })
})

describe('a store that cannot be written', () => {
  it.runIf(process.getuid?.() === 0)('says how its owner can change that (F24)', async () => {
    using here = home()
    const id = await told(here, 'hello')
    const [file, folder] = [dataFile(here), dirname(dataFile(here))]
    for (const path of [here.cwd, here.env.XDG_CONFIG_HOME!]) chmodSync(path, 0o755)
    for (let path = dirname(folder); path !== tmpdir(); path = dirname(path)) chmodSync(path, 0o755)
    // Root may write everything, so the command runs as the owner of the file.
    for (const path of [file, folder]) chownSync(path, 65_534, 65_534)
    const script = join(import.meta.dirname, '../as-unprivileged.ts')
    const rename = () =>
      spawnSync(process.execPath, [script, 'rename', id, 'other'], {
        cwd: here.cwd,
        env: here.env,
        encoding: 'utf8',
      })
    chmodSync(folder, 0o000)
    expect(rename().stderr).toContain(`cannot open or create ${file}: permission denied. Use another place`)
    chmodSync(folder, 0o700)
    chmodSync(file, 0o400)
    expect(rename().stderr).toBe(`skein: the store is read-only: ${file}. To write: chmod u+w ${file}\n`)
    chmodSync(file, 0o600)
    for (const name of readdirSync(folder)) if (name !== 'conversations.db') rmSync(join(folder, name))
    chmodSync(folder, 0o500)
    expect(rename().stderr).toBe(`skein: the store is read-only: ${file}. To write: chmod u+w ${folder}\n`)
    chmodSync(folder, 0o700)
    expect(rename()).toMatchObject({ status: 0 })
  })
})

const impossible = whyNoTmpfs()
describe.skipIf(impossible !== null)(`a full disk${impossible ? `: ${impossible}` : ''}`, () => {
  it('is reported as such, and everything on it can be read (B10)', async () => {
    using here = home()
    const [file, folder] = [dataFile(here), dirname(dataFile(here))]
    mkdirSync(folder, { recursive: true })
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder])
    try {
      const id = await told(here, 'my name is Ishmael')
      await here.skein(['search', 'Ishmael'])
      await here.skein(['-q', 'later words'])
      writeUntilFull(join(folder, 'ballast'))

      for (const args of [['ls'], ['show'], ['tree'], ['search', 'Ishmael'], ['export', id]]) {
        const { code, stdout, stderr } = await here.skein(args)
        expect([args[0], code, stdout.includes('Ishmael')]).toEqual([args[0], 0, true])
        expect(stderr).toBe('')
      }
      // These could not be indexed any more.
      expect((await here.skein(['search', 'later'])).stdout).toContain('later words')
      expect(await here.skein(['export', id, '-o', 'x.md'])).toMatchObject({ code: 0 })
      expect(await here.skein(['backup', 'copy.db'])).toMatchObject({ code: 0 })
      expect((await here.skein(['show', '--db', 'copy.db', id])).stdout).toContain('later words')

      const full = `skein: the disk is full: ${file}. Nothing was written. Free some space\n`
      expect(await here.skein(['rename', id, 'other'])).toEqual({ code: 1, stdout: '', stderr: full })
      const beside = await here.skein(['export', id, '-o', join(folder, 'x.md')])
      expect(beside).toMatchObject({ code: 1, stderr: expect.stringContaining('the disk is full: ') })
      const doctor = await here.skein(['doctor'])
      expect([doctor.code, doctor.stdout]).toEqual([
        1,
        expect.stringMatching(/✗ store .*is full, reading works/),
      ])

      rmSync(join(folder, 'ballast'))
      expect(await here.skein(['rename', id, 'other'])).toMatchObject({ code: 0 })
      expect((await here.skein(['search', 'later'])).stderr).toBe('')
    } finally {
      execFileSync('umount', [folder])
    }
  })
})
