import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { commands } from '../../../src/cli/commands/index.ts'
import { commandLine, type Home, home } from '../skein.ts'
import { hostile, stocked, tell } from '../stock.ts'
import { program } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const run = promisify(execFile)

/** What bash completes for a line with an unfinished last word. */
async function offered(here: Home, line: string): Promise<readonly string[]> {
  const script = `
    source <(skein completion bash)
    COMP_WORDS=(${line}); [[ ${JSON.stringify(line)} == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    _skein
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await run('bash', ['--norc', '-c', script], { cwd: here.cwd, env: here.env })
  return stdout.split('\n').filter(word => word !== '')
}

/** Puts the command on the PATH of the home. */
function install(here: Home): Home {
  const folder = join(here.env.HOME!, 'bin')
  mkdirSync(folder)
  const [file, args] = commandLine([])
  const quoted = [file, ...args].map(word => `'${word}'`).join(' ')
  writeFileSync(join(folder, 'skein'), `#!/bin/sh\nexec ${quoted} "$@"\n`)
  chmodSync(join(folder, 'skein'), 0o755)
  return { ...here, env: { ...here.env, PATH: `${folder}:${here.env.PATH}` } }
}

test('bash completes commands, flags, flag values and conversation ids', async () => {
  using place = home()
  const here = install(place)
  const { conversation } = await stocked(here, store =>
    tell(store, { title: hostile, directory: here.cwd }, 'a'),
  )
  const words = await offered(here, 'skein ')
  for (const { name } of commands) expect(words).toContain(name.split(' ', 1)[0])
  expect(await offered(here, 'skein ver')).toEqual(['verify'])
  expect(await offered(here, 'skein rm --ca')).toEqual(['--cascade'])
  expect(await offered(here, 'skein conversation de')).toEqual(['delete'])
  expect(await offered(here, 'skein dispatch sub')).toEqual(['submit'])
  expect(await offered(here, 'skein dispatch work --wor')).toEqual(['--workers'])
  expect(await offered(here, 'skein convo rm --ca')).toEqual(['--cascade'])
  const short = conversation.id.slice(0, 8)
  expect(await offered(here, 'skein rm ')).toEqual([short])
  expect(await offered(here, 'skein --continue ')).toEqual([short])
  expect(await offered(here, `skein rm ${conversation.id.slice(0, 12)}`)).toEqual([conversation.id])
  expect(await offered(here, `skein conversation delete ${conversation.id.slice(0, 4)}`)).toEqual([short])
  expect(await offered(here, 'skein -m so')).toEqual(['sonnet'])
  expect(await offered(here, 'skein -m ')).toContain('sonnet  (anthropic/claude-sonnet-5-5)')
  expect(await offered(here, 'skein completion ')).toEqual(['bash', 'zsh', 'fish'])
  writeFileSync(join(here.cwd, 'a-file.html'), '')
  expect(await offered(here, 'skein export -o a-f')).toEqual(['a-file.html'])
  expect(await offered(here, 'skein gc ')).toEqual([])
  const { conversation: second } = await stocked(here, store =>
    tell(store, { title: 'A storm: of sorts', directory: here.cwd }, 'b'),
  )
  expect(await offered(here, 'skein rm ')).toContain(`${second.id.slice(0, 8)}  (A storm: of sorts)`)
})

/** Whether a shell is installed. Otherwise the test is skipped with a reason. */
async function isHere(shell: 'fish' | 'zsh'): Promise<boolean> {
  return run(shell, ['--version']).then(
    () => true,
    () => false,
  )
}

test('fish completes the same, with titles next to ids', async ({ skip }) => {
  if (!(await isHere('fish'))) skip('fish is not installed')
  using place = home()
  const here = install(place)
  const { conversation } = await stocked(here, store =>
    tell(store, { directory: here.cwd, title: 'A storm: of sorts' }, 'a'),
  )
  writeFileSync(join(here.cwd, 'a-file.html'), '')
  const lines = [
    'skein ver',
    'skein rm --ca',
    'skein conversation de',
    'skein -q convo rm --ca',
    'skein rm ',
    'skein --continue ',
    'skein completion ',
    'skein export -o a-f',
    'skein gc ',
  ]
  const asked = lines.map(line => `complete -C '${line}'; echo ---`).join('\n')
  const { stdout } = await run('fish', ['--no-config', '-c', `skein completion fish | source\n${asked}`], {
    cwd: here.cwd,
    env: here.env,
  })
  const id = `${conversation.id.slice(0, 8)}\tA storm: of sorts`
  const verbs = stdout.split('---\n').map(part => part.split('\n').filter(line => line !== ''))
  expect(verbs.slice(0, 4).map(([only]) => only?.split('\t')[0])).toEqual([
    'verify',
    '--cascade',
    'delete',
    '--cascade',
  ])
  expect(verbs.slice(4, 9)).toEqual([[id], [id], ['bash', 'fish', 'zsh'], ['a-file.html'], []])
})

test('zsh completes the same at its prompt', async ({ skip }) => {
  if (!(await isHere('zsh'))) skip('zsh is not installed')
  using place = home()
  const here = install(place)
  const { conversation } = await stocked(here, store =>
    tell(store, { directory: here.cwd, title: 'A storm: of sorts' }, 'a'),
  )
  writeFileSync(join(here.cwd, 'a-file.html'), '')
  using shell = program(here, 'zsh', ['-f', '-o', 'no_prompt_sp'], { columns: 160 })
  shell.type(`PS1='ready> '; autoload -U compinit; compinit -u -D; source <(skein completion zsh)\r`)
  await shell.seeNext(/^ready> $/m)
  const completions = [
    ['skein ver', 'skein verify '],
    ['skein rm --ca', 'skein rm --cascade '],
    ['skein conversation de', 'skein conversation delete '],
    ['skein -q convo rm --ca', 'skein -q convo rm --cascade '],
    ['skein rm ', `skein rm ${conversation.id.slice(0, 8)} `],
    ['skein --continue ', `skein --continue ${conversation.id.slice(0, 8)} `],
    ['skein export -o a-f', 'skein export -o a-file.html '],
    ['skein completion b', 'skein completion bash '],
  ] as const
  for (const [typed, completed] of completions) {
    shell.type(`${typed}\t`)
    await shell.seeNext(completed)
    shell.type('\x15') // Ctrl+U clears the line.
  }
})

test('every shell completes every command and every flag', async () => {
  using here = home()
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout, code } = await here.skein(['completion', shell])
    expect(code).toBe(0)
    for (const { name, options } of commands) {
      for (const word of name.split(' ')) expect(stdout).toContain(word)
      for (const option of Object.keys(options)) {
        expect(stdout).toContain(shell === 'fish' ? `-l '${option}'` : `--${option}`)
      }
    }
  }
  expect((await here.skein(['completion', 'tcsh'])).code).toBe(2)
  expect((await here.skein(['completion'])).code).toBe(2)
})
