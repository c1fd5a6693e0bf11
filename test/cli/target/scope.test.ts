import { spawnSync } from 'node:child_process'
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { projectFolder } from '../../../src/cli/target/scope.ts'
import { commandLine, type Home, home } from '../skein.ts'
import { stocked, tell } from '../stock.ts'

let here: Home
beforeEach(() => {
  here = home()
})
afterEach(() => here[Symbol.dispose]())

/** Creates a folder below the working directory, with an empty file in it if one is named. */
function folder(path: string, file?: string): string {
  const made = join(realpathSync(here.cwd), path)
  mkdirSync(made, { recursive: true })
  if (file === '.git' || file === '.skein') mkdirSync(join(made, file), { recursive: true })
  else if (file) writeFileSync(join(made, file), '')
  return made
}

async function titlesIn(cwd: string, ...flags: string[]): Promise<readonly string[]> {
  const { stdout } = await here.skein(['ls', ...flags, '--json=title'], { cwd })
  return (JSON.parse(stdout) as { title: string }[]).map(({ title }) => title).sort()
}

describe('the project of a directory', () => {
  test.each(['.skein', 'skein.yaml', 'skein.yml', '.git'])('is the nearest folder with %s', marker => {
    const project = folder('project', marker)
    const deep = folder('project/src/deep')
    expect(projectFolder(deep, here.env)).toBe(project)
    expect(projectFolder(project, here.env)).toBe(project)
    const inner = folder('project/src/inner', marker)
    expect(projectFolder(inner, here.env)).toBe(inner)
  })

  test('is the directory itself without a marker, and never the home folder or the root', () => {
    const inHome = folder('in-home')
    const HOME = realpathSync(here.cwd)
    folder('.', '.git')
    expect(projectFolder(inHome, { HOME })).toBe(inHome)
    expect(projectFolder(HOME, { HOME })).toBe(HOME)
    symlinkSync(HOME, join(dirname(HOME), 'linked-home'))
    expect(projectFolder(inHome, { HOME: join(dirname(HOME), 'linked-home') })).toBe(inHome)
    expect(projectFolder('/', {})).toBe('/')
    // Control: the same folder is a project of another user.
    expect(projectFolder(inHome, { HOME: '/elsewhere' })).toBe(HOME)
  })

  test('is found for a directory that was deleted', () => {
    const project = folder('project', '.git')
    expect(projectFolder(join(project, 'gone/deeper'), here.env)).toBe(project)
  })
})

describe('the conversations of a project', () => {
  test('are those of its folder and of all folders in it, except of a project inside', async () => {
    const project = folder('project', '.git')
    const sub = folder('project/src')
    // A worktree and a submodule have a file.
    const worktree = folder('project/worktrees/next', '.git-file')
    writeFileSync(join(worktree, '.git'), 'gitdir: ../../.git/worktrees/next\n')
    const beside = folder('project-2')
    await stocked(here, async store => {
      for (const [title, directory] of [
        ['root', project],
        ['sub', sub],
        ['deleted', join(project, 'gone')],
        ['worktree', worktree],
        ['beside', beside],
        ['none', null],
      ] as const)
        await tell(store, { title, directory }, `${title} said`)
    })
    const own = ['deleted', 'root', 'sub']
    expect(await titlesIn(project)).toEqual(own)
    expect(await titlesIn(sub)).toEqual(own)
    expect(await titlesIn(worktree)).toEqual(['worktree'])
    expect(await titlesIn(beside)).toEqual(['beside'])
    expect(await titlesIn(sub, '--all')).toHaveLength(6)
    const found = async (cwd: string) =>
      (await here.skein(['search', 'said', '--json=title'], { cwd })).stdout.match(/"title"/g)?.length
    expect([await found(project), await found(sub), await found(worktree)]).toEqual([3, 3, 1])
    const tree = await here.skein(['tree'], { cwd: sub })
    expect(tree.stdout.match(/\[USER\]/g)).toHaveLength(3)
  })

  test('are only those of the directory itself if it is not in a project', async () => {
    const [above, below] = [folder('a'), folder('a/b')]
    await stocked(here, async store => {
      await tell(store, { title: 'above', directory: above }, 'one')
      await tell(store, { title: 'below', directory: below }, 'two')
    })
    expect(await titlesIn(above)).toEqual(['above'])
    expect(await titlesIn(below)).toEqual(['below'])
  })

  test('are also found under the path of a symbolic link, by which the shell came', async () => {
    const project = folder('project', '.git')
    const link = join(realpathSync(here.cwd), 'link')
    symlinkSync(project, link)
    await stocked(here, async store => {
      await tell(store, { title: 'by link', directory: link }, 'one')
      await tell(store, { title: 'by path', directory: project }, 'two')
    })
    const { stdout } = await here.skein(['ls', '--json=title'], { cwd: link, env: { PWD: link } })
    expect(stdout).toContain('by link')
    expect(stdout).toContain('by path')
  })

  test('include those in the trash, with their own directories', async () => {
    const project = folder('project', '.git')
    await stocked(here, async store => {
      const { conversation } = await tell(store, { title: 'old', directory: join(project, 'gone') }, 'one')
      await store.trash(conversation.id)
    })
    expect(await titlesIn(project)).toEqual([])
    expect(await titlesIn(project, '--trash')).toEqual(['old'])
  })
})

describe('skein in a project', () => {
  test('continues the newest conversation of the project from any of its folders', async () => {
    const project = folder('project', 'skein.yaml')
    const sub = folder('project/src')
    const ask = (cwd: string, ...words: string[]) =>
      here.skein(['-m', 'scripted', '--json', ...words], { cwd })
    const first = JSON.parse((await ask(sub, 'hello')).stdout) as { conversation: string }
    const second = JSON.parse((await ask(project, 'again')).stdout) as {
      conversation: string
      resumed: string
    }
    expect(second).toMatchObject({ conversation: first.conversation, resumed: 'continued' })
    const named = JSON.parse((await ask(sub, '-c', first.conversation, 'more')).stdout) as object
    expect(named).toMatchObject({ conversation: first.conversation })
    const outside = await here.skein(['-m', 'scripted', '-c', first.conversation, 'no'])
    expect(outside.code).toBe(2)
    expect(outside.stderr).toContain('belongs to')
  })

  test('finds a named conversation by its key of a folder in the project, which older versions gave it', async () => {
    const project = folder('project')
    const sub = folder('project/src')
    const ask = async (cwd: string) =>
      JSON.parse(
        (await here.skein(['-m', 'scripted', '--json', '--session', 'work', 'hi'], { cwd })).stdout,
      ) as {
        conversation: string
      }
    const before = await ask(sub)
    folder('project', '.git')
    expect((await ask(project)).conversation).toBe(before.conversation)
    expect((await ask(sub)).conversation).toBe(before.conversation)
    const keys = await stocked(here, async store =>
      (await store.listConversations()).items.map(one => one.branch.key),
    )
    expect(keys).toEqual([`cli:work@${sub}`])
  })

  test('gives a new conversation the key of the project', async () => {
    const project = folder('project', '.git')
    const sub = folder('project/src')
    await here.skein(['-m', 'scripted', '--session', 'work', 'hi'], { cwd: sub })
    const [one] = await stocked(here, async store => (await store.listConversations()).items)
    expect(one).toMatchObject({ directory: sub, branch: { key: `cli:work@${project}` } })
  })

  test('says that the working directory was deleted', () => {
    const gone = folder('gone')
    const [file, args] = commandLine(['ls'])
    const script = 'rmdir "$PWD" && exec "$@"'
    const { stderr, status } = spawnSync('sh', ['-c', script, 'sh', file, ...args], {
      cwd: gone,
      env: here.env,
      encoding: 'utf8',
    })
    expect(stderr).toBe('skein: the working directory was deleted. Go to another one: cd\n')
    expect(status).toBe(2)
  })
})
