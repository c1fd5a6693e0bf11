import { describe, expect, it, vi } from 'vitest'
import { home } from '../skein.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

describe('a prompt on a terminal', () => {
  it('prints the answer between header and receipt, with colours, and erases the spinner', async () => {
    using here = home()
    await here.skein(['-q', 'my name is Ada'])
    using run = terminal(here, ['/slow 600 Hello there', '-m', 'scripted'])
    // The spinner is shown after a pause.
    await run.seePassing(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] scripted/)
    expect(await run.ended).toBe(0)
    expect(run.screen()).toMatch(
      /^continuing "my name is Ada" · main · 2 messages\n {2}now: Nice to meet you, Ada\.\n\nHello there\n\nsaved [a-z2-7]{6} · scripted · \d+ in, \d+ out · free\n$/,
    )
    expect(run.raw).toContain('\x1b[36m') // an id
    using plain = terminal(here, ['hello', '-m', 'scripted'], { env: { NO_COLOR: '1' } })
    expect(await plain.ended).toBe(0)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these would be colours
    expect(plain.raw).not.toMatch(/\x1b\[\d+m/)
  })

  it('wraps the answer to the width, between words', async () => {
    using here = home()
    await here.skein(['-q', `A title ${'that is long '.repeat(20)}`])
    using run = terminal(here, [`/say ${'wordy '.repeat(40)}`, '-m', 'scripted'], { columns: 44 })
    expect(await run.ended).toBe(0)
    const lines = run.screen().split('\n')
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(44)
    expect(lines[0]).toMatch(/^continuing "A title that is l.*…" · main · 2$/)
    expect(lines.filter(line => line.startsWith('wordy'))).not.toHaveLength(1)
    expect(run.screen()).not.toMatch(/\bword\n|^y/m)
  })

  it('stops at Ctrl+C and stores the partial answer', async () => {
    using here = home()
    using run = terminal(here, [`/slow 200 one two three ${'and so on '.repeat(50)}`])
    await run.see('one two')
    run.type('\x03')
    expect(await run.ended).toBe(130)
    expect(run.screen()).toMatch(
      /one two.*\n\n! stopped after [\d.]+ m?s, saved as ([a-z2-7]{6})\. Continue: skein -c \1 "…"\n$/,
    )
  })

  it('never lets an answer control the terminal (R17)', async () => {
    using here = home()
    const hostile = '\x1b]0;owned\x07 \x1b[2J \x9b31m \x1b]52;c;aGk=\x07 \x1bP1$r\x1b\\ end'
    using run = terminal(here, [`/say ${hostile}`, '-m', 'scripted'], { columns: 120 })
    expect(await run.ended).toBe(0)
    using next = terminal(here, ['hello', '-m', 'scripted'], { columns: 120 })
    expect(await next.ended).toBe(0)
    for (const { raw } of [run, next]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal would obey
      const foreign = raw.replaceAll(/\x1b\[(?:\d*m|K)/g, '')
      expect(foreign).toContain('␛]0;owned␇')
      expect(foreign).not.toMatch(/[^\P{Cc}\r\n\t]/u)
    }
  })
})
