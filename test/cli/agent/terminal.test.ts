import { describe, expect, it, vi } from 'vitest'
import { marker, slowly, timesGiven } from '../../acp/agents/model-server.ts'
import { agentHome, asks } from './with-agents.ts'

const first = marker('first')

describe('skein agent on a terminal', () => {
  it('asks for permission with the agent’s own options, and ignores keys that were typed before the question', async () => {
    await using at = await agentHome()
    at.model.next({ type: 'wait' }, { type: 'text', text: 'May I?' }, asks, {
      type: 'text',
      text: 'Written.',
    })
    using chat = at.onTerminal([], 'good')
    // The agent's name, and no context window, which is unknown.
    await chat.see(/main · 0 messages · good · (ask · )?\/help[\s\S]*› $/)
    chat.type('write\r')
    await at.model.stopped()
    chat.type('yyy')
    at.model.proceed()
    await chat.see(/May I\?[\s\S]*\? Write a\.txt\n {2}1 Allow · 2 Reject · esc refuses/)
    chat.type('1')
    await chat.seeNext('allowed: Write a.txt')
    await chat.seeNext('Written.')
    await chat.seeNext('› yyy')
    at.model.next(asks, { type: 'text', text: 'Then not.' })
    chat.type('\r')
    await chat.seeNext('1 Allow · 2 Reject')
    chat.type('\x1b')
    await chat.seeNext('! not allowed: Write a.txt')
    await chat.seeNext('Then not.')
    await chat.seeNext(/main · 8 messages · good · [\s\S]*› $/)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
    expect(at.processes()).toEqual([])
  })

  it('starts the agent while the user types, and stops it if nothing is sent', async () => {
    await using at = await agentHome()
    using chat = at.onTerminal([], 'forgetful')
    await vi.waitUntil(() => at.processes().length === 2, { timeout: 20_000 })
    await chat.see('› ')
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
    expect(at.processes()).toEqual([])
    expect(at.model.turns).toEqual([])
  })

  it('stops the turn at the first Ctrl+C and stores the partial answer; exits at the second and leaves no process behind (S3-76)', async () => {
    await using at = await agentHome()
    using chat = at.onTerminal(['-n'], 'forgetful')
    await chat.see('› ')
    at.model.answerTo(first, ...slowly('HALF an answer', 1), { type: 'wait' })
    chat.type(`${first}\r`)
    await chat.seeNext('memory: new to this conversation')
    await chat.seeNext('HALF an')
    chat.type('\x03')
    await chat.seeNext(/stopped after .*, saved as \w{6}\. Type to continue\. Ctrl\+C again to quit\./)
    await chat.seeNext('› ')
    chat.type('continue\r')
    await chat.seeNext(/2 user turns; markers: first/)
    expect(timesGiven(at.model.last, 'HALF an answer')).toBe(1)
    at.model.next({ type: 'text', text: 'for ever' }, { type: 'wait' })
    chat.type('again\r')
    await chat.seeNext('for')
    chat.type('\x03')
    await chat.seeNext('Ctrl+C again to quit.')
    chat.type('\x03')
    expect(await chat.ended).toBe(130)
    await vi.waitUntil(() => at.processes().length === 0)
  })
})
