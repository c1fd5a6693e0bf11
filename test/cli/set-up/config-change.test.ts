import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { ownFile } from '../settings/own-file.ts'
import { type Home, home } from '../skein.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const secret = 'sk-very-secret-1234567890'
const own = (here: Home) => join(here.env.XDG_CONFIG_HOME!, 'skein/skein.yaml')
const read = (file: string) => readFileSync(file, 'utf8')

describe('skein config set, get and unset', () => {
  it('change one value of the user’s file and keep its comments, mode and link', async () => {
    using here = home()
    const dotfiles = join(here.cwd, 'dotfiles.yaml')
    writeFileSync(dotfiles, '# mine\nmodel: gpt # the old one\n')
    chmodSync(dotfiles, 0o640)
    mkdirSync(join(here.env.XDG_CONFIG_HOME!, 'skein'))
    symlinkSync(dotfiles, own(here))
    const set = await here.skein(['config', 'set', 'model', 'sonnet'])
    expect(set).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'model is sonnet · ~/.config/skein/skein.yaml:2\n',
    })
    expect(read(dotfiles)).toBe('# mine\nmodel: sonnet # the old one\n')
    expect(statSync(dotfiles).mode & 0o777).toBe(0o640)
    expect((await here.skein(['config', 'get', 'model'])).stdout).toBe('sonnet\n')
    await here.skein(['config', 'set', 'tools.allow', 'lint, run_tests'])
    expect(read(dotfiles)).toContain('tools:\n  allow:\n    - lint\n    - run_tests\n')
    const got = JSON.parse((await here.skein(['config', 'get', 'tools', '--json'])).stdout)
    expect(got.values).toContainEqual({
      path: 'tools.allow',
      value: 'lint, run_tests',
      source: '~/.config/skein/skein.yaml:4',
    })
    const unset = await here.skein(['config', 'unset', 'tools.allow'])
    expect(unset.stderr).toBe('tools.allow has its default again · changed ~/.config/skein/skein.yaml\n')
    expect(read(dotfiles)).toBe('# mine\nmodel: sonnet # the old one\n')
    expect((await here.skein(['config', 'unset', 'tools.allow'])).stderr).toContain('Nothing was changed')
  })

  it('refuse an unknown setting and a wrong value before they write', async () => {
    using here = home()
    for (const [args, said] of [
      [['conversation.max_token', '5'], 'Did you mean conversation.max_tokens?'],
      [
        ['conversation.max_tokens', 'lots'],
        'max_tokens: "lots" is not a number (no default). Nothing was changed',
      ],
      [['model', 'nope'], 'no model nope'],
      [['model', 'antropic/x'], 'Did you mean anthropic/x?'],
      [['providers.openai.key', 'x', '--project'], 'is only for your own'],
      [['model', 'gpt', '--user', '--project'], 'cannot be used together'],
    ] as const) {
      const { code, stderr } = await here.skein(['config', 'set', ...args])
      expect([code, stderr], args.join(' ')).toEqual([2, expect.stringContaining(said)])
    }
    expect(existsSync(own(here)) || existsSync(join(here.cwd, 'skein.yaml'))).toBe(false)
    writeFileSync(join(here.cwd, 'skein.yaml'), 'a: [\n')
    const broken = await here.skein(['config', 'set', 'model', 'gpt', '--project'])
    expect(broken).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('./skein.yaml:2: is not valid YAML'),
    })
  })

  it('write to the file that decides, and say what else wins', async () => {
    using here = home()
    const project = join(here.cwd, 'skein.yaml')
    await here.skein(['config', 'set', 'conversation.max_age', '3d', '--project'])
    expect(read(project)).toBe('conversation:\n  max_age: 3d\n')
    expect((await here.skein(['config', 'set', 'conversation.max_age', '4d'])).stderr).toContain(
      './skein.yaml:2',
    )
    expect(read(project)).toBe('conversation:\n  max_age: 4d\n')
    const beaten = await here.skein(['config', 'set', 'conversation.max_age', '5d', '--user'])
    expect(beaten.stderr).toContain('was changed, but ./skein.yaml:2 wins over it')
    const env = { SKEIN_MODEL: 'gpt' }
    expect((await here.skein(['config', 'set', 'model', 'opus'], { env })).stderr).toContain(
      'SKEIN_MODEL wins',
    )
    expect(statSync(own(here)).mode & 0o777).toBe(0o600)
  })

  it('never print a key', async () => {
    using here = home()
    ownFile(here, {
      providers: { openai: { key: secret } },
      mcp: { web: { url: 'https://x.example', headers: { A: secret } } },
    })
    for (const setting of [
      'providers.openai.key',
      'providers',
      'mcp',
      'mcp.web.headers',
      'mcp.web.headers.A',
    ]) {
      const { stdout, stderr, code } = await here.skein(['config', 'get', setting])
      expect([code, (stdout + stderr).includes(secret)], setting).toEqual([0, false])
    }
    expect((await here.skein(['config', 'get', 'mcp.web.headers.A'])).stdout).toBe('set\n')
  })

  it('explain a setting and the whole configuration on a terminal, in words', async () => {
    using here = home()
    ownFile(here, 'conversation:\n  max_tokens: 5000\n')
    using got = terminal(here, ['config', 'get', 'conversation.max_tokens'])
    expect(await got.ended).toBe(0)
    expect(got.screen()).toMatch(
      /^5000\nMost tokens of a model call[\s\S]*Set in:\s~\/.config\/skein\/skein.yaml:2\./,
    )
    for (const columns of [80, 40]) {
      using all = terminal(here, ['config'], { columns })
      expect(await all.ended).toBe(0)
      const shown = all.screen()
      expect(shown).toContain('You talk to the built-in demo model')
      expect(shown).toMatch(/Changed settings\n {2}conversation\.max_tokens = 5000/)
      for (const line of shown.split('\n')) expect(line.length).toBeLessThanOrEqual(columns)
    }
  })
})

describe('skein config edit', () => {
  const editor = (here: Home, script: string) => {
    const file = join(here.cwd, 'editor')
    writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return file
  }

  it('opens $VISUAL, and reports the problems of the file afterwards', async () => {
    using here = home()
    const VISUAL = editor(here, 'echo "model: gpt" > "$1"')
    const edited = await here.skein(['config', 'edit'], { env: { VISUAL, EDITOR: 'false' } })
    expect(edited).toMatchObject({ code: 0, stderr: expect.stringContaining('every setting in it is known') })
    expect(read(own(here))).toBe('model: gpt\n')
    const EDITOR = editor(here, 'echo "modle: gpt" > "$1"')
    const wrong = await here.skein(['config', 'edit', '--project'], { env: { EDITOR, VISUAL: '' } })
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean model?') })
    expect((await here.skein(['config', 'edit'], { env: { EDITOR: '', VISUAL: '' } })).stderr).toContain(
      'no editor is set',
    )
    expect((await here.skein(['config', 'edit'], { env: { EDITOR: 'false', VISUAL: '' } })).code).toBe(2)
  })

  it('leaves no file behind if a new one was not changed', async () => {
    using here = home()
    const { code } = await here.skein(['config', 'edit'], { env: { EDITOR: 'true', VISUAL: '' } })
    expect([code, existsSync(own(here))]).toEqual([0, false])
  })

  it('offers to open it again on a terminal', async () => {
    using here = home()
    const script =
      'if [ -e "$1.again" ]; then echo "model: gpt" > "$1"; else touch "$1.again"; echo "modle: gpt" > "$1"; fi'
    using screen = terminal(here, ['config', 'edit'], { env: { EDITOR: editor(here, script), VISUAL: '' } })
    await screen.see(/modle: unknown setting[\s\S]*Open it again\? y\/N/)
    screen.type('y\r')
    expect(await screen.ended).toBe(0)
    expect(read(own(here))).toBe('model: gpt\n')
  })
})

describe('skein config keys', () => {
  it('stores a key for its owner only, from stdin or hidden on a terminal, and never prints it', async () => {
    using here = home()
    const file = join(here.env.XDG_CONFIG_HOME!, 'skein/keys.json')
    const set = await here.skein(['config', 'keys', 'set', 'openai'], { input: `${secret}\n` })
    expect(set.code).toBe(0)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(JSON.parse(read(file))).toEqual({ openai: secret })
    using screen = terminal(here, ['config', 'keys', 'set', 'anthropic'])
    await screen.see('key of anthropic, which is not shown: ')
    screen.type(`${secret}-2\r`)
    expect(await screen.ended).toBe(0)
    expect(screen.raw).not.toContain('sk-very')
    expect(JSON.parse(read(file))).toEqual({ openai: secret, anthropic: `${secret}-2` })
    const env = { ANTHROPIC_API_KEY: 'other' }
    const listed = await here.skein(['config', 'keys'], { env })
    expect(listed.stdout).toContain(
      'anthropic\tset\tANTHROPIC_API_KEY\nopenai\tset\t~/.config/skein/keys.json\n',
    )
    const doctor = await here.skein(['doctor'], { env })
    expect(doctor.stdout).toContain(
      'ANTHROPIC_API_KEY, the key of openai in ~/.config/skein/keys.json are set',
    )
    for (const args of [
      ['config'],
      ['config', '--json'],
      ['config', 'keys', 'ls', '--json'],
      ['doctor', '--json'],
    ]) {
      const { stdout, stderr } = await here.skein(args)
      expect(stdout + stderr, args.join(' ')).not.toContain(secret)
    }
    chmodSync(file, 0o644)
    expect((await here.skein(['doctor'])).stdout).toContain('others may read ~/.config/skein/keys.json')
    await here.skein(['config', 'keys', 'rm', 'openai'])
    expect(JSON.parse(read(file))).toEqual({ anthropic: `${secret}-2` })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await here.skein(['config', 'keys', 'rm', 'anthropic'])
    expect(existsSync(file)).toBe(false)
  })

  it('refuses an empty key, an unknown provider, a key in place of a name, and a damaged file', async () => {
    using here = home()
    for (const [args, input, said] of [
      [['set', 'openai'], '\n', 'the key is empty'],
      [['set', 'openai'], 'two words\n', 'that is not a key'],
      [['set', 'antropic'], 'x', 'Did you mean anthropic?'],
      [['set', secret], 'x', 'that looks like a key'],
      [['set'], 'x', 'needs a provider'],
      [['get', 'openai'], 'x', 'no verb get'],
    ] as const) {
      const { code, stderr } = await here.skein(['config', 'keys', ...args], { input })
      expect([code, stderr], args.join(' ')).toEqual([2, expect.stringContaining(said)])
      expect(stderr).not.toContain(secret)
    }
    ownFile(here, '')
    writeFileSync(join(here.env.XDG_CONFIG_HOME!, 'skein/keys.json'), `{"openai": "${secret}`)
    const broken = await here.skein(['config'])
    expect(broken.code).toBe(2)
    expect(broken.stderr).toMatch(/keys\.json: is not JSON\. To start again: rm /)
    expect(broken.stderr).not.toContain(secret)
  })
})
