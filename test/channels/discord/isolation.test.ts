import { describe, expect, it } from 'vitest'
import type { LoopbackChannel } from '../../support/discord/loopback-discord.ts'
import { ada, channelIn, type OpenAgent, server, startBot, type TestBotOptions, wordsIn } from './bot.ts'

const mention = '<@900> '
const places = Array.from({ length: 50 }, (_, n) => channelIn(server.id, String(600 + n), `channel-${n}`))
const secretOf = ({ id }: LoopbackChannel) => `password${id}x`

/** Talks in 50 channels at once, twice in each, and returns the model calls with words of another channel. */
async function leaks(options: TestBotOptions): Promise<readonly string[]> {
  await using it = await startBot({ editMs: 1_000, channels: places, ...options })
  const { discord } = it
  for (const round of [0, 1])
    for (const place of places) discord.say(place, ada, `${mention}Round ${round}: ${secretOf(place)}`)
  await discord.until(() => places.every(place => discord.posts(place).length === 2))
  await it.bot.channel.idle()
  expect(it.requests).toHaveLength(100)
  return it.requests.flatMap(request => {
    const words = wordsIn(request)
    const own = places.filter(place => words.includes(secretOf(place)))
    return own.length === 1 ? [] : [words]
  })
}

describe('50 channels at once', () => {
  it('never have words of another channel in a model call (S0-3, S0-48)', async () => {
    expect(await leaks({})).toEqual([])
  })
  it('would have them with one shared conversation: the test can fail', async () => {
    // One agent for all, whatever the conversation: each message is sent to the same key.
    const shared = (open: OpenAgent): OpenAgent => {
      const only = open('')
      return async () => {
        const agent = await only
        return { ...agent, send: (_, words, how) => agent.send('shared', words, how) }
      }
    }
    expect((await leaks({ openAgent: shared })).length).toBeGreaterThan(49)
  })
  it('are answered with at most max_agents agents, which are rebuilt without a difference (S0-48)', async () => {
    let opened = 0
    let [open, most] = [0, 0]
    const counted =
      (make: OpenAgent): OpenAgent =>
      async id => {
        opened++
        most = Math.max(most, ++open)
        const agent = await make(id)
        const close: typeof agent.close = async how => {
          open--
          await agent.close(how)
        }
        return { ...agent, close }
      }
    expect(await leaks({ openAgent: counted, settings: { maxAgents: 4 } })).toEqual([])
    expect(most).toBe(4)
    expect(opened).toBeGreaterThan(50)
  })
})
