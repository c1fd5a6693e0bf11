import { describe, expect, it, vi } from 'vitest'
import { modelHome, models } from '../real-model.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const thought = 'The lock file pins an old version.'

/** Thinking in many small pieces. */
const pieces = Array.from({ length: 20 }, (_, n) => [
  { thinking: `${n === 0 ? thought : '.'}` },
  { delayMs: 50 },
]).flat()

describe.concurrent('thinking', () => {
  it('shows a spinner with seconds while it arrives, one line afterwards, and its text on /think', async () => {
    const { promise: gate, resolve: release } = Promise.withResolvers<void>()
    await using here = await modelHome([{ parts: [...pieces, { gate }, { text: 'The build is red.' }] }])
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('why is the build red?\r')
    await chat.seePassing(/\S thinking · \d+ s/)
    await chat.seePassing(/\S thinking · (?:[2-9]|\d\d) s/)
    release()
    await chat.seeNext('The build is red.')
    await chat.seeNext(/› $/)
    expect(chat.screen()).toMatch(/\n {2}thought for ([2-9]|\d\d) s · \/think\nThe build is red\.\n/)
    expect(chat.screen()).not.toContain('thinking ·')
    expect(chat.screen()).not.toContain(thought)
    // A piece does not erase the spinner, which would blink.
    expect(chat.raw.split('\r\x1b[K\r\x1b[K').length).toBeLessThan(5)
    chat.type('/think\r')
    await chat.seeNext(thought)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)

    // In the next run, the thinking is read from the store.
    using next = terminal(here, ['chat'])
    await next.see('The build is red.')
    await next.see(/› $/)
    next.type('/think\r')
    await next.seeNext(thought)
    const full = await here.skein(['show', '--full'])
    expect(full.stdout).toContain(thought)
  })

  it.each([models.openai, models.google, models.compatible])('of %s is one line on stderr', async model => {
    const parts = [{ thinking: thought }, { delayMs: 1_100 }, { text: 'The build is red.' }]
    await using here = await modelHome([{ parts }], model)
    const { stdout, stderr } = await here.skein(['why?'])
    expect(stdout).toBe('The build is red.\n')
    expect(stderr).toMatch(/\n {2}thought for \d+ s · skein show --full\n/)
    const [quiet, incognito] = await Promise.all([
      here.skein(['-q', 'why?']),
      here.skein(['--incognito', 'why?']),
    ])
    expect(quiet.stderr).toBe('')
    expect(incognito.stderr).toMatch(/\n {2}thought for \d+ s\n/)
    expect((await here.skein(['show', '--full'])).stdout).toContain(thought)
  })

  it('is kept for /think in an incognito chat, and its absence is said', async () => {
    await using here = await modelHome([{ parts: [{ thinking: thought }, { text: 'Red.' }] }, 'Green.'])
    using chat = terminal(here, ['chat', '--incognito'])
    await chat.see('› ')
    chat.type('why?\r')
    await chat.seeNext(/thought for less than a second · \/think\nRed\./)
    await chat.seeNext(/› $/)
    chat.type('/think\r')
    await chat.seeNext(thought)
    await chat.seeNext(/› $/)
    chat.type('and now?\r')
    await chat.seeNext('Green.')
    await chat.seeNext(/› $/)
    chat.type('/think\r')
    await chat.seeNext('! the last answer came without thinking that can be shown')
  })
})

describe.concurrent('a stream that stalls', () => {
  it('shows seconds below the unfinished line, and erases them when the text continues', async () => {
    const { promise: gate, resolve: release } = Promise.withResolvers<void>()
    const parts = [{ text: ['The build ', 'is red. It '] }, { gate }, { text: 'was green.' }]
    await using here = await modelHome([{ parts }])
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('why?\r')
    await chat.seeNext(/\nThe build is red\. It ?\n\S sonnet-5\.5 has paused · \d+ s/)
    await chat.seePassing(/has paused · (?:[3-9]|\d\d) s/)
    release()
    await chat.seeNext('The build is red. It was green.')
    await chat.seeNext(/› $/)
    expect(chat.screen()).not.toContain('has paused')
  })

  it('shows seconds before the first word', async () => {
    const { promise: gate, resolve: release } = Promise.withResolvers<void>()
    await using here = await modelHome([{ parts: [{ gate }, { text: 'Red.' }] }])
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('why?\r')
    await chat.seePassing(/\S sonnet-5\.5 · (?:[2-9]|\d\d) s/)
    release()
    await chat.seeNext('Red.')
  })
})
