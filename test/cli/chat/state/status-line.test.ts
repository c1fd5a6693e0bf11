import { describe, expect, it } from 'vitest'
import { type StatusFacts, statusLine } from '../../../../src/cli/chat/state/status-line.ts'
import { styleFor } from '../../../../src/cli/output/style.ts'

const plain = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8', NO_COLOR: '1' }, noColor: false })
const ascii = styleFor({ isTerminal: true, env: { LANG: 'C', NO_COLOR: '1' }, noColor: false })

describe('the status line', () => {
  const facts: StatusFacts = {
    directory: '~/src/harbor',
    branch: 'full-jitter',
    messages: 58,
    model: 'anthropic/claude-sonnet-4-5',
    used: 74_000,
    window: 200_000,
    cost: 0.38,
  }

  it('shows bar, model and cost at 80 columns, and everything at 120', () => {
    expect(statusLine(facts, 79, plain)).toBe(
      'full-jitter · sonnet-4.5 · ━━━━━━────────── 37% of 200k · $0.38',
    )
    expect(statusLine(facts, 119, plain)).toBe(
      '~/src/harbor · full-jitter · 58 messages · sonnet-4.5 · ━━━━━━━━━─────────────── 37% of 200k · $0.38 · /help',
    )
  })

  it('drops directory, messages, bar and cost in this order', () => {
    expect(statusLine(facts, 50, plain)).toBe('full-jitter · sonnet-4.5 · 37% of 200k · $0.38')
    expect(statusLine(facts, 40, plain)).toBe('full-jitter · sonnet-4.5 · 37% of 200k')
    const long = { ...facts, directory: `~/${'x'.repeat(60)}` }
    expect(statusLine(long, 110, plain)).toMatch(/^full-jitter · 58 messages · /)
  })

  it('counts messages that are not saved at every width', () => {
    const waiting = { ...facts, unsaved: 2 }
    expect(statusLine(waiting, 79, plain)).toMatch(/ · \$0\.38 · 2 not saved$/)
    expect(statusLine(waiting, 44, plain)).toBe('full-jitter · sonnet-4.5 · 2 not saved')
  })

  it('warns in words when the window is nearly full, and leaves an unknown price out', () => {
    expect(statusLine({ ...facts, used: 190_000 }, 79, plain)).toContain('95% of 200k nearly full')
    expect(statusLine({ ...facts, cost: null }, 79, plain)).toMatch(/of \S+$/)
    const little = { ...facts, used: 300 }
    expect(statusLine(little, 79, plain)).toContain(' · ──────────────── 0% of 200k')
    expect(statusLine({ ...facts, used: 1_100 }, 79, plain)).toContain(' · ━─────────────── 1% of 200k')
    expect(statusLine({ ...facts, branch: null, cost: 0 }, 79, ascii)).toMatch(/^incognito - .*=.* - free$/)
  })
})
