import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createAgent } from '../../../src/agent/agent.ts'
import { codingTools } from '../../../src/agent/coding/coding-tools.ts'
import { nameTest } from '../../../src/agent/coding/project-files.ts'
import { mayHoldSecrets } from '../../../src/agent/coding/project-path.ts'
import type { AgentEvent } from '../../../src/agent/run/events.ts'
import type { ApprovalAnswer, ApprovalRequest } from '../../../src/core/approval.ts'
import type { Json } from '../../../src/core/json.ts'
import { scripted } from '../../../src/models/scripted.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'

interface Project extends Disposable {
  readonly directory: string
  readonly asked: ApprovalRequest[]
  write(name: string, text: string): string
  read(name: string): string
  /** Calls a tool as a model would. Returns its result, and whether it is an error. */
  call(name: string, input: Json): Promise<{ readonly output: string; readonly isError: boolean }>
}

function project(answer: ApprovalAnswer | ((request: ApprovalRequest) => ApprovalAnswer) = 'allow'): Project {
  const parent = realpathSync(mkdtempSync(join(tmpdir(), 'skein-coding-')))
  const directory = join(parent, 'project')
  mkdirSync(directory)
  const asked: ApprovalRequest[] = []
  const tools = codingTools({ directory })
  return {
    directory,
    asked,
    write(name, text) {
      const path = join(directory, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
      return path
    },
    read: name => readFileSync(join(directory, name), 'utf8'),
    async call(name, input) {
      const model = scripted({ script: [{ calls: [{ name, input: input as never }] }, 'done'] })
      await using agent = createAgent({
        model,
        tools,
        approve(request) {
          asked.push(request)
          return typeof answer === 'function' ? answer(request) : answer
        },
      })
      let ended: Extract<AgentEvent, { type: 'tool_ended' }> | null = null
      for await (const event of agent.send('k', 'go')) if (event.type === 'tool_ended') ended = event
      return { output: String(ended!.output), isError: ended!.isError }
    },
    [Symbol.dispose]: () => rmSync(parent, { recursive: true, force: true }),
  }
}

describe('reading', () => {
  it('returns a file or some of its lines, without asking', async () => {
    using here = project()
    here.write('a.txt', 'one\ntwo\nthree\n')
    expect(await here.call('read_file', { path: 'a.txt' })).toEqual({
      output: 'one\ntwo\nthree\n',
      isError: false,
    })
    expect((await here.call('read_file', { path: 'a.txt', line: 2, limit: 1 })).output).toBe('two')
    expect((await here.call('read_file', { path: 'a.txt', line: 9 })).output).toContain('only 4 lines')
    expect(here.asked).toEqual([])
  })

  it('refuses binary files, and files that do not exist', async () => {
    using here = project()
    here.write('b.bin', 'a\0b')
    writeFileSync(join(here.directory, 'latin1.txt'), Buffer.from([0x67, 0xfc]))
    expect((await here.call('read_file', { path: 'b.bin' })).output).toContain('is not a text file')
    expect((await here.call('read_file', { path: 'latin1.txt' })).output).toContain('is not UTF-8')
    expect((await here.call('read_file', { path: 'none' })).output).toContain('there is no file')
    expect((await here.call('read_file', { path: '.' })).isError).toBe(true)
  })

  it.runIf(existsSync('/proc/locks'))(
    'leaves a database in use alone, with the locks of its store',
    async () => {
      using here = project()
      const file = join(here.directory, 'conversations.db')
      await using store = await openSqliteStore(file)
      await store.create({ title: 'needle' })
      const locks = () => {
        const inodes = [file, `${file}-shm`].map(path => `:${statSync(path).ino} `)
        const ours = readFileSync('/proc/locks', 'utf8').split('\n')
        return ours.filter(
          line => line.includes(` ${process.pid} `) && inodes.some(one => line.includes(one)),
        )
      }
      const before = locks().length
      expect(before).toBe(2)
      for (const path of ['conversations.db', 'conversations.db-shm'])
        expect((await here.call('read_file', { path })).output).toContain('is a database that is in use')
      expect((await here.call('search_files', { text: 'needle' })).output).toContain('no line contains')
      expect(locks().length).toBe(before)
    },
  )

  it.each([
    ['a path with ..', '../outside.txt', 'outside the project'],
    ['a link that leads out', 'link', 'outside the project'],
    ['a link to a file outside that does not exist yet', 'new', 'outside the project'],
    ['a file below a link that leads out', 'folder/outside.txt', 'outside the project'],
    ['a file with secrets', '.env', 'may contain secrets'],
    ['a link to a file with secrets', 'harmless.txt', 'may contain secrets'],
    ['a file of git', '.git/config', 'inside .git'],
  ])('asks about %s, and does not read it if it is denied', async (_, path, reason) => {
    using here = project('deny')
    const outside = join(here.directory, '../outside.txt')
    writeFileSync(outside, 'not yours')
    here.write('.env', 'KEY=not yours')
    here.write('.git/config', 'not yours')
    symlinkSync(outside, join(here.directory, 'link'))
    symlinkSync('../none.txt', join(here.directory, 'new'))
    symlinkSync('..', join(here.directory, 'folder'))
    symlinkSync('.env', join(here.directory, 'harmless.txt'))
    const { output, isError } = await here.call('read_file', { path })
    expect(isError).toBe(true)
    expect(output).not.toContain('not yours')
    expect(here.asked).toMatchObject([{ kind: 'read', reason }])
  })

  it('refuses a path that leads elsewhere after the approval', async () => {
    using here = project(() => {
      rmSync(join(here.directory, '.env'))
      symlinkSync('../outside.txt', join(here.directory, '.env'))
      return 'allow'
    })
    here.write('.env', 'KEY=1')
    writeFileSync(join(here.directory, '../outside.txt'), 'not yours')
    const { output } = await here.call('read_file', { path: '.env' })
    expect(output).toContain('leads elsewhere now')
    expect(output).not.toContain('not yours')
  })
})

describe('editing', () => {
  it('replaces a text, shows the change first, and keeps mode and line endings', async () => {
    using here = project()
    const path = here.write('run.sh', '#!/bin/sh\r\necho one\r\necho two\r\n')
    chmodSync(path, 0o755)
    const input = { path: 'run.sh', old_text: 'echo one\necho two', new_text: 'echo three\necho four' }
    expect(await here.call('edit_file', input)).toEqual({ output: 'edited run.sh', isError: false })
    expect(here.read('run.sh')).toBe('#!/bin/sh\r\necho three\r\necho four\r\n')
    expect(statSync(path).mode & 0o777).toBe(0o755)
    expect(here.asked).toMatchObject([
      {
        title: 'edit run.sh',
        kind: 'edit',
        reason: null,
        preview: { type: 'diff', path, oldText: expect.stringContaining('echo one') },
      },
    ])
  })

  it('refuses a text that is missing or ambiguous, without asking', async () => {
    using here = project()
    here.write('a.txt', 'x\ny\nx\n')
    const edit = (old_text: string, more = {}) =>
      here.call('edit_file', { path: 'a.txt', old_text, new_text: 'z', ...more })
    expect((await edit('w')).output).toContain('is not in the file')
    expect((await edit('x')).output).toContain('2 times')
    expect((await edit('z')).output).toContain('nothing would change')
    expect(here.asked).toEqual([])
    expect((await edit('x', { replace: 'all' })).isError).toBe(false)
    expect(here.read('a.txt')).toBe('z\ny\nz\n')
  })

  it('does not change a file if it is denied', async () => {
    using here = project('deny')
    here.write('a.txt', 'x')
    await here.call('edit_file', { path: 'a.txt', old_text: 'x', new_text: 'y' })
    await here.call('write_file', { path: 'new.txt', content: 'y' })
    expect(here.read('a.txt')).toBe('x')
    expect(existsSync(join(here.directory, 'new.txt'))).toBe(false)
  })

  it('loses no edit if one answer changes a file twice', async () => {
    using here = project()
    here.write('a.txt', 'one\ntwo\n')
    const edit = (old_text: string) => ({
      name: 'edit_file',
      input: { path: 'a.txt', old_text, new_text: old_text.toUpperCase() },
    })
    const model = scripted({ script: [{ calls: [edit('one'), edit('two')] }, 'done'] })
    await using agent = createAgent({
      model,
      tools: codingTools({ directory: here.directory }),
      approve: () => 'allow',
    })
    await agent.ask('k', 'go')
    expect(here.read('a.txt')).toBe('ONE\nTWO\n')
  })

  it('writes new files with their directories, and asks about a path outside the project', async () => {
    using here = project(({ reason }) => (reason === null ? 'allow' : 'deny'))
    expect((await here.call('write_file', { path: 'src/new.ts', content: 'x\n' })).isError).toBe(false)
    expect(here.read('src/new.ts')).toBe('x\n')
    await here.call('write_file', { path: '../evil.sh', content: 'x' })
    expect(existsSync(join(here.directory, '../evil.sh'))).toBe(false)
    expect(here.asked.map(({ title, reason }) => [title, reason])).toEqual([
      ['write src/new.ts (new file)', null],
      [`write ${join(dirname(here.directory), 'evil.sh')} (new file)`, 'outside the project'],
    ])
  })
})

describe('searching', () => {
  function stocked(here: Project): void {
    here.write('.gitignore', '/dist\n*.log\n!keep.log\n')
    here.write('src/a.ts', 'const needle = 1\nconst other = 2\n')
    here.write('src/b.test.ts', 'Needle\n')
    here.write('src/.gitignore', 'generated.ts\n')
    here.write('src/generated.ts', 'needle')
    here.write('dist/a.js', 'needle')
    here.write('noise.log', 'needle')
    here.write('keep.log', 'needle')
    here.write('.env', 'NEEDLE=needle')
    here.write('.git/HEAD', 'needle')
    writeFileSync(join(here.directory, '../outside.txt'), 'needle')
    symlinkSync('../outside.txt', join(here.directory, 'link.txt'))
  }

  it('finds files by name, without those that .gitignore leaves out', async () => {
    using here = project()
    stocked(here)
    const names = async (pattern: string, path?: string) =>
      (await here.call('find_files', { pattern, ...(path && { path }) })).output.split('\n')
    expect(await names('*')).toEqual([
      ...['.env', '.gitignore', 'keep.log', 'src/.gitignore', 'src/a.ts', 'src/b.test.ts'],
    ])
    expect(await names('*.ts')).toEqual(['src/a.ts', 'src/b.test.ts'])
    expect(await names('src/*.{test,spec}.ts')).toEqual(['src/b.test.ts'])
    expect(await names('KEEP')).toEqual(['keep.log'])
    expect(await names('*.ts', 'src')).toEqual(['a.ts', 'b.test.ts'])
    expect(await names('*.rs')).toEqual(['no file matches *.rs'])
    expect(here.asked).toEqual([])
  })

  it('finds text in files, and says how many files with secrets it left out', async () => {
    using here = project()
    stocked(here)
    const { output } = await here.call('search_files', { text: 'needle' })
    expect(output).toBe(
      'keep.log:1: needle\nsrc/a.ts:1: const needle = 1\n[not searched: 1 files that may contain secrets]',
    )
    const folded = await here.call('search_files', { text: 'NEEDLE', case: 'ignored', files: '*.ts' })
    expect(folded.output).toBe('src/a.ts:1: const needle = 1\nsrc/b.test.ts:1: Needle')
  })

  it('asks before it looks outside the project', async () => {
    using here = project('deny')
    writeFileSync(join(here.directory, '../outside.txt'), 'needle')
    await here.call('search_files', { text: 'needle', path: '..' })
    await here.call('find_files', { pattern: '*', path: '/' })
    expect(here.asked.map(({ reason }) => reason)).toEqual(['outside the project', 'outside the project'])
  })
})

/** Resolves when the process is gone and was reaped. */
async function hasEnded(pid: number): Promise<void> {
  const isAlive = () => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }
  while (isAlive()) await new Promise(resolve => setTimeout(resolve, 5))
}

describe('running a command', () => {
  it('asks with the command, runs it in the project, and returns its output', async () => {
    using here = project()
    const { output, isError } = await here.call('run_command', { command: 'pwd; echo oops >&2; cat' })
    expect(output).toBe(`${here.directory}\noops\n`)
    expect(isError).toBe(false)
    expect(here.asked).toMatchObject([
      {
        title: 'run pwd; echo oops >&2; cat',
        kind: 'execute',
        preview: { type: 'command', directory: here.directory },
        scope: 'run pwd; echo oops >&2; cat',
      },
    ])
  })

  it('reports the exit code first', async () => {
    using here = project()
    expect(await here.call('run_command', { command: 'echo no; exit 3' })).toEqual({
      output: 'exit 3\nno\n',
      isError: true,
    })
  })

  it('ends all processes of a command after its time', async () => {
    using here = project()
    const command = 'sleep 600 & echo $! > pid; sleep 600'
    const { output, isError } = await here.call('run_command', { command, timeout: 1 })
    expect([output, isError]).toEqual(['ended after 1 s, the time limit\n', true])
    await hasEnded(Number(here.read('pid')))
  })

  it('ends all processes of a command when its turn is aborted', async () => {
    using here = project()
    const model = scripted({
      script: [
        { calls: [{ name: 'run_command', input: { command: 'sleep 600 & echo $! > pid; wait' } }] },
        '',
      ],
    })
    await using agent = createAgent({
      model,
      tools: codingTools({ directory: here.directory }),
      approve: () => 'allow',
    })
    const run = agent.send('k', 'go')
    const pid = join(here.directory, 'pid')
    while (!existsSync(pid) || here.read('pid') === '') await new Promise(setImmediate)
    run.abort()
    expect((await run.result()).status).toBe('interrupted')
    await hasEnded(Number(here.read('pid')))
  })

  it('ends processes that it left in the background, and returns', async () => {
    using here = project()
    const { output } = await here.call('run_command', { command: 'sleep 600 & echo $! > pid; echo ready' })
    expect(output).toBe('ready\n')
    await hasEnded(Number(here.read('pid')))
  })

  it('returns the beginning and the end of a long output', async () => {
    using here = project()
    const command = 'echo first; head -c 5000000 /dev/zero | tr "\\0" x; echo; echo last'
    const { output } = await here.call('run_command', { command })
    expect(output.startsWith('first\nxxx')).toBe(true)
    expect(output.endsWith('xxx\nlast\n')).toBe(true)
    expect(output).toMatch(/\[\d+ characters left out\]/)
    expect(output.length).toBeLessThan(100_100)
  })
})

describe('the plan', () => {
  it('is an event, and a malformed one is refused', async () => {
    using here = project()
    const entries = [{ content: 'Read', status: 'in_progress' }]
    expect((await here.call('update_plan', { entries })).output).toBe('shown')
    expect((await here.call('update_plan', { entries: [{ content: 1 }] })).isError).toBe(true)
    expect(here.asked).toEqual([])
  })
})

describe('names', () => {
  it.each(['.env', '.env.local', 'deploy.pem', 'id_rsa', 'a/.ssh/config', 'secrets.yaml', '.npmrc'])(
    '%s may hold secrets',
    name => expect(mayHoldSecrets(`/p/${name}`)).toBe(true),
  )
  it.each(['.env.example', 'id_rsa.pub', 'keyboard.ts', 'secretary.md', 'environment.ts'])(
    '%s holds none',
    name => expect(mayHoldSecrets(`/p/${name}`)).toBe(false),
  )
  it.each([
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'x/y/a.ts', true],
    ['src/*.ts', 'src/x/a.ts', false],
    ['a?.ts', 'ab.ts', true],
    ['a.ts', 'x/A.TS', true],
    ['*.ts', 'a-ts', false],
  ])('the pattern %s and %s: %s', (pattern, name, isFound) => expect(nameTest(pattern)(name)).toBe(isFound))
})
