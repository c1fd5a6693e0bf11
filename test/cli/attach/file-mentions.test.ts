import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { untakenText } from '../../../src/cli/attach/attached-text.ts'
import { completePath } from '../../../src/cli/attach/complete-path.ts'
import { mentionOf, mentionsIn, readMentionedFiles } from '../../../src/cli/attach/file-mentions.ts'
import { pastedPicture } from '../../../src/cli/chat/state/attached-files.ts'

let cwd: string
const base = () => ({ cwd, env: { HOME: cwd } })

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'skein-mentions-'))
  mkdirSync(join(cwd, 'src/deep folder'), { recursive: true })
  writeFileSync(join(cwd, 'notes.md'), '# Notes')
  writeFileSync(join(cwd, 'my notes.txt'), 'mine')
  writeFileSync(join(cwd, 'src/a.ts'), 'export {}')
  writeFileSync(join(cwd, '.hidden'), 'x')
  writeFileSync(join(cwd, 'app.bin'), Buffer.from([0, 1, 2]))
  writeFileSync(join(cwd, 'shot.png'), Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))
})
afterAll(() => rmSync(cwd, { recursive: true }))

describe('a mention', () => {
  it('begins a word with @, and is quoted if the path has spaces', () => {
    expect(mentionsIn('see @a.ts and (@b.ts), "@c" ada@example.org @"my notes.txt" @a.ts')).toEqual([
      'a.ts',
      'b.ts),',
      'my notes.txt',
    ])
    expect(['a.ts', 'my notes.txt'].map(mentionOf)).toEqual(['@a.ts', '@"my notes.txt"'])
  })

  it('attaches a file under its path, also at the end of a sentence', async () => {
    const { files, notes } = await readMentionedFiles(
      'Compare (@src/a.ts) with @"my notes.txt", @~/notes.md.',
      base(),
    )
    expect(files.map(({ name, mime }) => [name, mime])).toEqual([
      ['src/a.ts', 'text/plain'],
      ['my notes.txt', 'text/plain'],
      ['notes.md', 'text/markdown'],
    ])
    expect(notes).toEqual([])
  })

  it('stays text if it names no file, with a note if it looks like a path', async () => {
    const { files, notes } = await readMentionedFiles('@ada: @Override @src/b.ts @src', base())
    expect(files).toEqual([])
    expect(notes).toEqual([
      'there is no file src/b.ts, so @src/b.ts is sent as text',
      '@src is a directory, so it is sent as text: attach single files',
    ])
  })

  it('refuses a binary file by its name', async () => {
    await expect(readMentionedFiles('what is @app.bin', base())).rejects.toThrow('app.bin is neither text')
  })
})

describe('a path', () => {
  const names = (typed: string) => completePath(typed, base()).map(({ path }) => path)
  it('is completed with folders first, and hidden files only after a dot', () => {
    expect(names('')).toEqual(['src/', 'app.bin', 'my notes.txt', 'notes.md', 'shot.png'])
    expect(names('src/')).toEqual(['src/deep folder/', 'src/a.ts'])
    expect(names('.h')).toEqual(['.hidden'])
    expect(names('~/no')).toEqual(['~/notes.md'])
    expect(names('nowhere/')).toEqual([])
  })

  it('of a picture becomes a mention when it is pasted', () => {
    const file = join(cwd, 'shot.png')
    expect(pastedPicture(`'${file}'\n`, base())).toBe(`@${file} `)
    expect(pastedPicture(join(cwd, 'none.png'), base())).toBe(join(cwd, 'none.png'))
    expect(pastedPicture(join(cwd, 'notes.md'), base())).toBe(join(cwd, 'notes.md'))
  })
})

it('says which files a model does not get', () => {
  const picture = { type: 'image', mime: 'image/png', name: 'shot.png', data: '' } as const
  const sound = { type: 'audio', mime: 'audio/wav', name: 'a.wav', data: '' } as const
  expect(untakenText([picture], { id: 'anthropic/claude-sonnet-5-5' })).toBeNull()
  expect(untakenText([picture, sound], { id: 'anthropic/claude-sonnet-5-5' })).toBe(
    'sonnet-5.5 does not take audio: it is told only that a.wav was attached',
  )
  expect(untakenText([picture], { id: 'scripted' })).toMatch(/^scripted does not take image/)
})
