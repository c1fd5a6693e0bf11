import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { openStore } from '../../../src/stores/open.ts'
import { dataFile, storeOf } from '../running.ts'
import { home } from '../skein.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

describe('a prompt', () => {
  it('prints the answer to stdout and everything else to stderr, and continues the conversation in the next run (S0-1, S0-20, S0-55, S0-57, S3-1, S3-6, S3-55)', async () => {
    using here = home()
    const first = await here.skein(['my name is Ada'])
    expect(first.stdout).toBe('Nice to meet you, Ada.\n')
    expect(first.stderr).toMatch(
      /^! no key set.*\nnew conversation · kept in ~\/\.local\/share\/skein\/conversations\.db\nsaved [a-z2-7]{6} · scripted · 4 in, 6 out · free\n$/,
    )
    const second = await here.skein(['what', 'is', 'my', 'name?'])
    expect(second.stdout).toBe('Your name is Ada.\n')
    expect(second.stderr).toMatch(
      /^continuing "my name is Ada" · main · 2 messages\n {2}now: Nice to meet you, Ada\.\nsaved /,
    )
    const quiet = await here.skein(['-q', 'who am I'])
    expect(quiet).toEqual({ stdout: 'Your name is Ada.\n', stderr: '', code: 0 })
    const asked = await here.skein(['ask', 'ls'])
    expect(asked.stdout).toContain('You said: "ls"')
    const dashed = await here.skein(['--', '-n', 'is not a flag here'])
    expect(dashed.stdout).toContain('You said: "-n is not a flag here"')
    await using store = await storeOf(here)
    const { items } = await store.listConversations()
    expect(items).toMatchObject([
      { title: 'my name is Ada', directory: here.cwd, channel: 'cli', model: 'scripted', messages: 10 },
    ])
    expect(items[0]!.branch.key).toBe(`cli:default@${here.cwd}`)
  })

  it('starts a new conversation with -n: the key moves, and the old conversation keeps its id (S3-53)', async () => {
    using here = home()
    await here.skein(['my name is Ada'])
    const fresh = await here.skein(['-n', 'who am I'])
    expect(fresh.stdout).toBe('You have not told me your name.\n')
    expect(fresh.stderr).toMatch(/^new conversation\n/m)
    expect((await here.skein(['what did I say first?'])).stdout).toContain('who am I')
    await using store = await storeOf(here)
    const { items } = await store.listConversations()
    expect(items.map(item => [item.title, item.branch.key])).toEqual([
      ['who am I', `cli:default@${here.cwd}`],
      ['my name is Ada', null],
    ])
  })

  it('keeps named conversations per directory (S0-14)', async () => {
    using here = home()
    const other = join(here.cwd, 'other')
    await mkdir(other)
    await here.skein(['--session', 'work', 'my name is Ada'])
    await here.skein(['-n', 'my name is Bo'])
    expect((await here.skein(['--session', 'work', 'who am I'])).stdout).toBe('Your name is Ada.\n')
    const elsewhere = await here.skein(['--session', 'work', 'who am I'], { cwd: other })
    expect(elsewhere.stdout).toBe('You have not told me your name.\n')
    expect((await here.skein(['-c', 'cli:work', 'who am I'])).stdout).toBe('Your name is Ada.\n')
    const renewed = await here.skein(['-n', '--session', 'work', 'who am I'])
    expect(renewed.stdout).toBe('You have not told me your name.\n')
  })

  it('uses plain keys in the own store of a project, and continues its newest conversation in every folder (S3-5)', async () => {
    using here = home()
    const sub = join(here.cwd, 'sub')
    await mkdir(sub)
    await mkdir(join(here.cwd, '.skein'))
    const db = join(here.cwd, '.skein', 'conversations.db')
    await here.skein(['--db', db, '-n', '-q', 'begin'])
    await here.skein(['-n', 'my name is Ada'])
    const below = await here.skein(['who am I'], { cwd: sub })
    expect(below.stdout).toBe('Your name is Ada.\n')
    await here.skein(['--session', 'plan', 'my name is Bo'])
    // A name belongs to the whole project, whatever the directory.
    expect((await here.skein(['--session', 'plan', 'who am I'], { cwd: sub })).stdout).toBe(
      'Your name is Bo.\n',
    )
    // Everything is in the project's own file.
    await using store = await openStore(db)
    expect((await store.listConversations()).items).toHaveLength(3)
    expect(existsSync(dataFile(here))).toBe(false)
  })

  it('takes --system for the system prompt, and -m for the model', async () => {
    using here = home()
    const run = await here.skein(['-m', 'scripted', '--system', 'Be brief.', 'hello'])
    expect(run.stderr).not.toContain('no key set')
    await using store = await storeOf(here)
    const [listed] = (await store.listConversations()).items
    expect(listed?.prompt?.text).toBe('Be brief.')
    const noKey = await here.skein(['-m', 'sonnet-4.5', 'hello'])
    expect(noKey).toMatchObject({ code: 1, stdout: '' })
    expect(noKey.stderr).toBe(
      'skein: there is no key for anthropic: set ANTHROPIC_API_KEY. To keep it: skein config keys set anthropic. To chat without a key: skein -n -m scripted\n',
    )
    expect((await here.skein(['-m', 'nosuch', 'hello'])).code).toBe(2)
    expect(await here.skein(['-m', 'sonet-4.5', 'hello'])).toMatchObject({
      code: 2,
      stderr: 'skein: no model sonet-4.5. Near: sonnet-4.5. All: skein config models\n',
    })
    expect((await here.skein(['-n', 'hello'], { env: { SKEIN_MODEL: 'nosuch' } })).code).toBe(2)
    const configured = join(here.cwd, 'skein.yaml')
    writeFileSync(configured, 'model: fast\nmodels:\n  fast: scripted\n')
    expect((await here.skein(['hello'])).stderr).not.toContain('no key set')
    const counts = await store.getConversation(listed!.id)
    // The refused prompts stored nothing.
    expect(counts.messages).toBe(4)
  })

  it('sends a digest of earlier conversations with --with-context, and does not store it', async () => {
    using here = home()
    await here.skein(['the gateway certificate is reloaded at 02:00 by cron'])
    const run = await here.skein(['-n', '--with-context', 'when is the gateway certificate reloaded?'])
    expect(run.stderr).toContain('\n  recalled: what earlier conversations say about this is sent too\n')
    await using store = await storeOf(here)
    const [listed] = (await store.listConversations()).items
    expect(listed!.messages).toBe(2)
    // A query before the prompt, or after =.
    for (const query of [['--with-context', 'gateway certificate'], ['--with-context=gateway certificate']]) {
      const asked = await here.skein(['-n', ...query, 'hello there'])
      expect(asked.stderr, query[0]).toContain('\n  recalled: ')
      const { stdout } = await here.skein(['show'])
      expect(stdout).toContain('\nhello there\n')
      expect(stdout).not.toContain('certificate')
    }
    expect((await here.skein(['-n', '--with-context', 'unrelated zebras', 'hello'])).stderr).not.toContain(
      'is sent along',
    )
    for (const args of [['--with-context'], ['-G', '-n', '--with-context']])
      expect(await here.skein([...args, 'hello there'])).toMatchObject({ code: 2, stdout: '' })
  })

  it('refuses contradicting flags and an empty prompt before it creates a store', async () => {
    using here = home()
    const both = await here.skein(['-n', '-c', '--', 'hello'])
    expect(both).toEqual({
      code: 2,
      stdout: '',
      stderr: 'skein: --new and --continue contradict each other. Drop one.\n',
    })
    for (const args of [[], ['-c'], ['--json', '']]) {
      const run = await here.skein(args)
      expect(run).toMatchObject({ code: 2, stdout: '' })
      expect(run.stderr).toContain('there is nothing to ask')
    }
    expect((await here.skein(['--bogus', 'hello'])).code).toBe(2)
    expect(existsSync(dataFile(here))).toBe(false)
  })

  it('leaves no trace with -G, and needs no store (S3-54)', async () => {
    using here = home()
    await here.skein(['my name is Ada'])
    const before = readdirSync(join(dataFile(here), '..')).sort()
    // A store that cannot be opened does not matter: it is not opened.
    const run = await here.skein(['-G', 'who am I'], { env: { SKEIN_DB: '/nowhere/at/all.db' } })
    expect(run.stdout).toBe('You have not told me your name.\n')
    expect(run.stderr).toBe(
      'incognito: nothing is opened, nothing is kept\nnot kept · scripted · 2 in, 8 out · free\n',
    )
    expect(readdirSync(join(dataFile(here), '..')).sort()).toEqual(before)
    const json = JSON.parse((await here.skein(['-G', '--json', 'hello'])).stdout)
    expect(json).toMatchObject({
      conversation: null,
      branch: null,
      message: null,
      resumed: 'new',
      saved: false,
    })
    const fatal = await here.skein(['who am I'], { env: { SKEIN_DB: '/dev/null/x.db' } })
    expect(fatal).toMatchObject({ code: 1, stdout: '' })
  })

  it('prints one object with the documented fields with --json', async () => {
    using here = home()
    const first = await here.skein(['--json', 'hello'])
    expect(first.stderr).toBe('')
    const answer = JSON.parse(first.stdout)
    expect(Object.keys(answer)).toEqual(
      'conversation branch message parent resumed status stop text model usage cost_usd context saved'.split(
        ' ',
      ),
    )
    expect(answer).toMatchObject({
      conversation: expect.stringMatching(/^[0-9a-f-]{36}$/),
      branch: 'main',
      message: expect.stringMatching(/^[a-z2-7]{32}$/),
      parent: expect.stringMatching(/^[a-z2-7]{32}$/),
      resumed: 'new',
      status: 'complete',
      text: expect.stringMatching(/^Hello!/),
      model: 'scripted',
      usage: { input: 2, output: 41, cache_read: null, cache_write: null, reasoning: null },
      cost_usd: 0,
      context: { used: 2, window: 128_000, left_out: 0, summarised: 0 },
      saved: true,
    })
    const second = JSON.parse((await here.skein(['--json', 'again'])).stdout)
    expect(second).toMatchObject({ resumed: 'continued', conversation: answer.conversation })
    const failed = await here.skein(['--json', '/fail 503'])
    expect(failed.code).toBe(1)
    expect(JSON.parse(failed.stdout)).toMatchObject({
      status: 'failed',
      resumed: 'continued',
      text: '',
      saved: true,
      parent: second.message,
    })
    expect(JSON.parse(failed.stderr).error).toMatchObject({ code: 'model_failed', candidates: [] })
    const forked = JSON.parse((await here.skein(['--json', '-c', answer.message, 'other'])).stdout)
    expect(forked).toMatchObject({ resumed: 'forked', branch: 'other', conversation: answer.conversation })
    const usage = await here.skein(['--json', '-n', '-c', 'x'])
    expect(JSON.parse(usage.stderr)).toEqual({
      error: {
        code: 'usage',
        message: '--new and --continue contradict each other',
        hint: 'Drop one.',
        candidates: [],
      },
    })
  })

  it('is stored when the model fails, and the next prompt can refer to it (S3-76, C18)', async () => {
    using here = home()
    const failed = await here.skein(['/fail 500'])
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(failed.stderr).toMatch(
      /\nskein: scripted: answered 500.*\n! your message is saved as [a-z2-7]{6}\. To ask again: skein chat, then Enter\n$/,
    )
    const next = await here.skein(['hello'])
    expect(next.stderr).toContain('! your last message has no answer yet: it is sent along\n')
    expect(next.code).toBe(0)
  })
})

describe('stdin', () => {
  it('is the prompt if there is no other', async () => {
    using here = home()
    expect((await here.skein([], { input: 'what is 2+3\n\n' })).stdout).toBe('2 + 3 = 5\n')
    expect((await here.skein(['-c'], { input: 'what is 2+4' })).stdout).toBe('2 + 4 = 6\n')
    const binary = await here.skein([], { input: '\0\0' })
    expect(binary).toMatchObject({ code: 2 })
    expect(binary.stderr).toBe('skein: the piped input is not text. Say what to do with it: … | skein "…"\n')
    expect(await here.skein([], { input: ' \n ' })).toMatchObject({ code: 2 })
  })

  it('is attached as a file if there is a prompt', async () => {
    using here = home()
    const run = await here.skein(['what is this?'], { input: 'error: no such file\n' })
    expect(run.stdout).toContain('With it came: file.')
    await using store = await storeOf(here)
    const [listed] = (await store.listConversations()).items
    const [question] = (await store.listMessages({ conversationId: listed!.id, order: 'ascending' })).items
    expect(question!.content).toEqual([
      { type: 'text', text: 'what is this?' },
      {
        type: 'file',
        mime: 'text/plain',
        name: 'stdin',
        data: Buffer.from('error: no such file\n').toString('base64'),
      },
    ])
    expect(question!.tokens).toBe(4 + 5)
    expect(listed!.title).toBe('what is this?')
  })
})

describe('attachments', () => {
  it('are images, text files by name, or refused', async () => {
    using here = home()
    const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(8)])
    writeFileSync(join(here.cwd, 'a.png'), png)
    writeFileSync(join(here.cwd, 'notes.md'), '# Hello\n\nThe okapi sleeps.\n')
    const run = await here.skein(['-a', 'a.png', '--attach', 'notes.md', 'look'], { input: 'and this' })
    expect(run.stdout).toContain('With it came: image, file, file.')
    // The text of a file is found as part of the file.
    const found = await here.skein(['search', 'okapi', '--json'])
    expect(JSON.parse(found.stdout)).toMatchObject([{ role: 'user', kind: 'file' }])
    // A file alone is a message.
    expect((await here.skein(['-n', '-a', 'a.png'])).stdout).toContain('With it came: image.')
    await using store = await storeOf(here)
    const [, listed] = (await store.listConversations()).items
    const [question] = (await store.listMessages({ conversationId: listed!.id, order: 'ascending' })).items
    expect(question!.content).toMatchObject([
      { type: 'text', text: 'look' },
      { type: 'image', mime: 'image/png', name: 'a.png', data: png.toString('base64') },
      { type: 'file', mime: 'text/markdown', name: 'notes.md' },
      { type: 'file', mime: 'text/plain', name: 'stdin' },
    ])
    const refused = await here.skein(['-a', 'none.txt', 'look'])
    expect(refused).toEqual({ code: 2, stdout: '', stderr: 'skein: there is no file none.txt\n' })
  })
})

describe('text with terminal control characters (R17)', () => {
  const hostile = '\x1b]0;owned\x07\x1b[2J\x9b31m\r\b\u202e end'

  it('is printed with visible control characters, stored or streamed; JSON contains the original text', async () => {
    using here = home()
    const run = await here.skein([`/say ${hostile}`])
    expect(run.stdout).toBe('␛]0;owned␇␛[2J\\u009b31m␍␈\\u202e end\n')
    const next = await here.skein(['hello', '-m', 'scripted'])
    for (const text of [run.stderr, next.stderr]) expect(text).not.toMatch(/[^\P{Cc}\n]|\u202e/u)
    expect(next.stderr).toContain('now: ␛]0;owned')
    const json = await here.skein(['--json', `/say ${hostile}`])
    expect(JSON.parse(json.stdout).text).toBe(hostile)
    const wrong = await here.skein(['-c', 'ab22\x1b[31m', 'x'])
    expect(wrong.stderr).not.toContain('\x1b')
  })
})
