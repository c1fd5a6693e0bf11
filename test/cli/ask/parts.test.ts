import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contextFacts, summaryText, troubleText, windowText } from '../../../src/cli/answer/answer-notes.ts'
import { attachFile, blockOf } from '../../../src/cli/ask/attachments.ts'
import { receiptLine } from '../../../src/cli/ask/receipt-line.ts'
import { parse } from '../../../src/cli/command-line/parse-args.ts'
import { prompt } from '../../../src/cli/commands/index.ts'
import { chooseModel, fullName } from '../../../src/cli/model/choose-model.ts'
import { modelName } from '../../../src/cli/output/model-name.ts'
import type { Paper } from '../../../src/cli/output/output.ts'
import { styleFor } from '../../../src/cli/output/style.ts'
import { safeStream, stdoutSink } from '../../../src/cli/output/text-sink.ts'
import { toolLine } from '../../../src/cli/output/tool-line.ts'
import { looksLikeId } from '../../../src/cli/target/find-named.ts'
import { wishesOf } from '../../../src/cli/target/target-flags.ts'

const style = styleFor({ isTerminal: false, env: {}, noColor: true })

function paper(width = 80): Paper & { readonly written: string[] } {
  const written: string[] = []
  return {
    written,
    isTerminal: false,
    width,
    rows: 24,
    style,
    write: text => void written.push(text),
    line: (text = '') => void written.push(`${text}\n`),
    drained: async () => undefined,
    stream: new Writable(),
  }
}

describe('an answer in pieces (R17)', () => {
  const seed = 20_261_116
  const text = fc.array(
    fc.constantFrom(
      'a',
      ' ',
      '\n',
      '\r',
      '\r\n',
      '\x1b',
      '\x1b[31m',
      '\x9b',
      '\u202e',
      '👩‍👩‍👧',
      'é',
      '\0',
      '\u2028',
    ),
    { maxLength: 30 },
  )

  it('is shown as the whole would be, wherever it is torn, and holds nothing that drives a terminal', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(40)), (pieces, cuts) => {
        const whole = pieces.join('')
        const stream = safeStream(style)
        const places = [...new Set(cuts)].filter(at => at < whole.length).sort((a, b) => a - b)
        const torn = [0, ...places].map((at, i) => whole.slice(at, places[i] ?? whole.length))
        const shown = torn.map(piece => stream.push(piece)).join('') + stream.end()
        expect(shown).toBe(style.safe(whole))
        expect(shown).not.toMatch(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2028]/u)
      }),
      { seed, numRuns: 500 },
    )
  })

  it('ends its line before anything else is written, and goes on in a new paragraph', () => {
    const out = paper()
    const sink = stdoutSink({ out })
    sink.pause()
    sink.push('I will ')
    sink.push('look.')
    sink.pause()
    sink.pause()
    sink.push('Done.\n')
    sink.pause()
    expect(out.written.join('')).toBe('I will look.\n\nDone.\n')
  })
})

describe('lines about an answer', () => {
  it('tell what it cost; an unknown price is no zero', () => {
    const facts = { message: 't4m6xe', model: 'anthropic/claude-sonnet-4-5', cost: 0.05 }
    const usage = { input: 74_012, cacheRead: 69_000, output: 1_204 }
    const context = { used: 74_000, window: 200_000 }
    expect(receiptLine({ ...facts, usage, context }, paper())).toBe(
      'saved t4m6xe · sonnet-4.5 · 74k in (69k cached), 1.2k out · $0.05 · context 37%',
    )
    expect(receiptLine({ ...facts, message: null, usage: {}, cost: null, context: null }, paper())).toBe(
      'not kept · sonnet-4.5 · ?',
    )
  })

  it('fold a tool call to one line that fits', () => {
    const read = {
      call: { name: 'read', input: { path: 'gateway/tls.ts' } },
      result: { output: 'a\nb\nc' },
      tookMs: 4,
    }
    expect(toolLine(read, paper())).toBe('  read  gateway/tls.ts · 3 lines · 4 ms')
    const failed = {
      call: { name: 'bash', input: { command: 'npm test' } },
      result: { output: 'boo\nexit 1', isError: true },
      tookMs: 3200,
    }
    expect(toolLine(failed, paper())).toBe('✗ bash  npm test · exit 1 · 3.2 s')
    const hostile = { ...read, call: { name: 'read', input: { path: '\x1b[2J'.repeat(100) } } }
    expect(toolLine(hostile, paper(60)).length).toBeLessThanOrEqual(60)
    expect(toolLine(hostile, paper(60))).not.toContain('\x1b')
    const bare = { call: { name: 'read', input: {} }, result: { output: '' }, tookMs: 4 }
    expect(toolLine(bare, paper())).toBe('  read · 4 ms')
    expect(toolLine({ ...read, result: null, tookMs: null }, paper())).toBe(
      '  read  gateway/tls.ts · no result',
    )
  })

  it('say that nothing is gone where something was left out', () => {
    expect(windowText(14)).toBe('window: 14 older messages were left out of this call. All are kept.')
    expect(windowText(1)).toBe('window: 1 older message was left out of this call. All are kept.')
    expect(summaryText(38, 610, 'made')).toBe('summary: 38 messages are now 610 tokens. All are kept.')
    const tokens = {
      system: 0,
      notes: 0,
      summary: 0,
      notice: 0,
      overhead: 0,
      messages: 9,
      total: 9,
      budget: 10,
    }
    const left = [
      { reason: 'window', messages: 3, tokens: 1 },
      { reason: 'summarised', messages: 4, tokens: 1 },
      { reason: 'max_messages', messages: 2, tokens: 1 },
    ] as const
    expect(contextFacts({ type: 'context', step: 1, tokens, left, older: 10, cut: [] })).toEqual({
      used: 9,
      budget: 10,
      leftOut: 15,
      summarised: 4,
    })
    const trouble = { kind: 'degraded', error: new Error('disk full'), waiting: 3 } as const
    expect(troubleText(trouble)).toBe('not saved yet: disk full. 3 writes wait; tried again until it works')
  })
})

describe('which model', () => {
  const none = { model: null, models: {} }
  const given = (model?: string) => ({ arguments: [], options: model === undefined ? {} : { model } })

  it('is the flag’s, SKEIN_MODEL’s, the configuration’s, that of a key, or the built-in one', () => {
    const env = { SKEIN_MODEL: 'gpt-5.2', ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k' }
    const config = { model: 'fast', models: { fast: 'ollama/llama3.2' } }
    expect(chooseModel(given('fast'), env, config)).toMatchObject({ id: 'ollama/llama3.2', from: 'flag' })
    expect(chooseModel(given(), env, config)).toMatchObject({ id: 'openai/gpt-5.2', from: 'environment' })
    const keys = { ANTHROPIC_API_KEY: ' ', OPENAI_API_KEY: 'k' }
    expect(chooseModel(given(), keys, config)).toMatchObject({ id: 'ollama/llama3.2', from: 'configuration' })
    expect(chooseModel(given(), keys, none)).toMatchObject({
      id: expect.stringMatching(/^openai\//),
      from: 'key',
    })
    expect(chooseModel(given(), {}, none)).toMatchObject({ id: 'scripted', from: 'nothing' })
    expect(() => chooseModel(given(' '), {}, none)).toThrow('must not be empty')
  })

  it('may be called by a short name', () => {
    const full = [
      'sonnet-4.5',
      'claude-opus-4-5',
      'gpt-5.2',
      'o3',
      'gemini-2.5-pro',
      'scripted',
      'x/y',
      'what',
    ].map(name => fullName(name))
    expect(full).toEqual([
      'anthropic/claude-sonnet-4-5',
      'anthropic/claude-opus-4-5',
      'openai/gpt-5.2',
      'openai/o3',
      'google/gemini-2.5-pro',
      'scripted',
      'x/y',
      'what',
    ])
    expect(fullName('sonnet', { sonnet: 'compatible/mine' })).toBe('compatible/mine')
    expect(fullName('constructor')).toBe('constructor')
    expect(modelName('anthropic/claude-sonnet-4-5-20250929')).toBe('sonnet-4.5')
  })
})

describe('flags', () => {
  const wishes = (...argv: readonly string[]) => wishesOf(parse(prompt, [...argv, '--', 'hello']))

  it('that contradict each other are refused', () => {
    const pairs = [
      ['-n', '-c'],
      ['-n', '--resume=abc222'],
      ['--resume=abc222', '-c'],
      ['-c', '--session=x'],
      ['--resume=abc222', '--session=x'],
      ['-G', '-c'],
      ['-G', '--resume=abc222'],
      ['-G', '--session=x'],
      ['-G', '-n', '--with-context'],
    ]
    for (const pair of pairs) expect(() => wishes(...pair)).toThrow('contradict each other')
    for (const wrong of ['--session=', '--resume=', '--with-context', '--bogus', '--model'])
      expect(() => wishes(wrong)).toThrow()
  })

  it('that do not are taken as they are', () => {
    const none = { goOn: null, isNew: false, incognito: false, name: null, resume: null, force: false }
    expect(wishes()).toEqual(none)
    expect(wishes('-c')).toEqual({ ...none, goOn: '' })
    expect(wishes('-c', 'q2w6nb', '--force')).toEqual({ ...none, goOn: 'q2w6nb', force: true })
    expect(wishes('-n', '--session', 'work')).toEqual({ ...none, isNew: true, name: 'work' })
    expect(wishes('-G', '-n')).toEqual({ ...none, incognito: true, isNew: true })
  })
})

describe('small decisions', () => {
  it('a word looks like an id if it could be no word', () => {
    const ids = ['q2w6nb', 'q2w5', '0f3a99', '3f2a1b4c-11', 'a'.repeat(32), 'q2w6nb:main', 'cli:work']
    const words = ['explain', 'hello', 'why', 'q2w6nb:', 'v2', 'über22', 'build-it', 'a:b']
    expect(ids.map(looksLikeId)).toEqual(ids.map(() => true))
    expect(words.map(looksLikeId)).toEqual(words.map(() => false))
  })

  it('a file is what its bytes say, whatever it is called', () => {
    expect(blockOf('x.txt', Buffer.from('%PDF-1.7'))).toMatchObject({ type: 'file', mime: 'application/pdf' })
    expect(blockOf('x.png', Buffer.from('text'))).toMatchObject({ type: 'file', mime: 'text/plain' })
    expect(blockOf('x', Buffer.from('GIF89a..'))).toMatchObject({ type: 'image', mime: 'image/gif' })
    expect(blockOf('x', Buffer.from('RIFF1234WEBPVP8'))).toMatchObject({ type: 'image', mime: 'image/webp' })
    expect(() => blockOf('x', Buffer.from([0xff, 0xfe, 0x00]))).toThrow('neither text')
  })

  it('a file that cannot be sent is refused in words', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skein-attach-'))
    writeFileSync(join(folder, 'x.bin'), Buffer.from([0, 1, 2]))
    writeFileSync(join(folder, 'long.txt'), 'x'.repeat(2_000_001))
    writeFileSync(join(folder, 'empty.txt'), '')
    const refused = [
      ['none.txt', 'there is no file none.txt'],
      ['.', '. is a directory'],
      ['x.bin', 'x.bin is neither text nor a picture, a sound, a video or a PDF'],
      ['long.txt', 'long.txt has 2 MB, at most 2 MB can be sent'],
      ['empty.txt', 'empty.txt is empty'],
    ] as const
    for (const [file, words] of refused) await expect(attachFile(file, folder)).rejects.toThrow(words)
    rmSync(folder, { recursive: true })
  })
})
