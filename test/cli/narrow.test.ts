import { describe, expect, it, vi } from 'vitest'
import { widthOf } from '../../src/cli/output/cut.ts'
import { home } from './skein.ts'
import { terminal } from './terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal is sent
const colours = /\x1b\[[0-9;]*m/g

describe('a terminal of 40 columns', () => {
  it('is wide enough for every reading command', async () => {
    using here = home()
    await here.skein(['-q', 'Staging drops every websocket at 02:00, and then all of them come back at once'])
    const lines = [['ls'], ['show'], ['branches'], ['search', 'websocket'], ['config'], ['trash']]
    const seen = await Promise.all(
      lines.map(async args => {
        using screen = terminal(here, args, { columns: 40, rows: 100, env: { PAGER: 'cat' } })
        expect(await screen.ended, args.join(' ')).toBe(0)
        return screen.raw.replace(colours, '').split('\r\n')
      }),
    )
    const wide = seen.flatMap((rows, i) => rows.filter(row => widthOf(row) > 40).map(row => [lines[i], row]))
    expect(wide).toEqual([])
    expect(seen[1]!.join('\n')).toMatch(/^scripted {2}\S+ \S+ {2}[a-z2-7]{6}$/m)
  })
})
