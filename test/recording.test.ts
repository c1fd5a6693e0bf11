import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { screenOf, textOfScreen } from '../scripts/recording/screen.ts'
import { playStory, type Scene, textOf } from '../scripts/recording/story.ts'
import { svgOf } from '../scripts/recording/svg.ts'

// The recording starts many processes.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const committed = (name: string) => readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8')

describe('the recording in docs/', () => {
  let scenes: readonly Scene[]
  beforeAll(async () => {
    scenes = await playStory()
  })

  it('matches the current output of the command: if not, run npm run recording and review it', () => {
    expect(textOf(scenes)).toBe(committed('recording.md'))
    expect(svgOf(scenes)).toBe(committed('recording.svg'))
  })

  it('shows chat, restart, resume, a tool call, fork, tree and search', () => {
    const text = committed('recording.md')
    for (const seen of [
      /^› Why do our websockets drop at 02:00\?\n\nThe certificate is reloaded/m,
      /^full jitter +│ spread over 30 s/m,
      /^continuing "Why do our websockets.*\n {2}now: .*\n\nWe chose full jitter, at most 30 s\.$/m,
      /^Continue which conversation\?/m,
      /^ {2}search_files {2}reconnect · .*\nI found it here:$/m,
      /^saved "Why do our websockets drop at 02:00\?" · continue: skein -c \w{6}$/m,
      /^forked at \S+, nothing copied/m,
      /^We chose polling, every 15 s\.$/m,
      /^ {4}\S{6} \(.*\) \[USER\] Use full jitter[\s\S]*^\S{6} \(.*\) \[USER\] Use polling instead\.$/m,
      /^\d hits in 1 conversation here/m,
    ]) {
      expect(text).toMatch(seen)
    }
  })

  it('shows lines being typed', () => {
    const svg = committed('recording.svg')
    expect(svg.match(/animation-timing-function: steps\(\d+\)/g)!.length).toBeGreaterThan(9)
    expect(svg.length).toBeLessThan(60_000)
  })

  it('is a single file without scripts and without URLs except that of the format', () => {
    const svg = committed('recording.svg')
    expect(svg).not.toMatch(/<script|<image|<foreignObject|@import|url\(|href/)
    expect(svg.match(/https?:\/\/[^"]+/g)).toEqual(['http://www.w3.org/2000/svg'])
  })
})

describe('the screen of the recording', () => {
  const shown = (sent: string) => textOfScreen(screenOf(sent, 10, 3))

  it('wraps, scrolls, moves and erases like a terminal', () => {
    expect(shown('ab\r\ncd')).toBe('ab\ncd')
    expect(shown('0123456789ab')).toBe('0123456789\nab')
    expect(shown('1\r\n2\r\n3\r\n4')).toBe('2\n3\n4')
    expect(shown('abc\rX\x1b[K')).toBe('X')
    expect(shown('a\r\nb\r\nc\x1b[2A\r\x1b[J')).toBe('')
    expect(shown('ab\x1b[3Cc')).toBe('ab   c')
  })

  it('keeps the colour of each character, and refuses unknown sequences', () => {
    expect(screenOf('a\x1b[36mb\x1b[39mc', 10, 1)[0]).toMatchObject([
      { column: 0, text: 'a', look: { colour: null } },
      { column: 1, text: 'b', look: { colour: 6 } },
      { column: 2, text: 'c', look: { colour: null } },
    ])
    expect(() => shown('\x1b[5S')).toThrow('not known here')
    expect(() => shown('\x1b[4m')).toThrow('not known here')
  })
})
