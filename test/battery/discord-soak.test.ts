import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openStore } from '../../src/stores/open.ts'
import {
  type LoopbackChannel,
  type LoopbackDiscord,
  startLoopbackDiscord,
} from '../support/discord/loopback-discord.ts'
import { strangeEnvironment } from '../support/place.ts'
import { note } from './note.ts'
import { signalTo } from './process-folder.ts'
import { isFull, size } from './size.ts'
import { reporting, type SoakPlan, type SoakSubject, soak } from './soak.ts'

/** People talk to `skein discord` in many channels, one after the other, so that every agent is released and
 *  opened again. SKEIN_BATTERY_MINUTES sets the time after the warm-up, which fills the caches: SQLite has
 *  16 MB for pages, and the bot remembers the ids of 10,000 messages. */
const count = size({ gate: 20, full: 2_000 })
const minutes = Number(process.env.SKEIN_BATTERY_MINUTES ?? 10)
const plan: SoakPlan = {
  ms: size({ gate: 500, full: minutes * 60_000 }),
  // discord.js makes 50 requests a second: 16 messages. And a channel of the gate has its next message after
  // 1.25 s, when the edit of its last answer is over.
  perSecond: size({ gate: 16, full: 20 }),
  warmUp: count * size({ gate: 1, full: 5 }),
  fewest: size({ gate: 60, full: 0 }),
  fewestReports: size({ gate: 1, full: 8 }),
  everyMs: size({ gate: 100, full: 5_000 }),
}
/** Each report collects all garbage, which takes longer than the work of the gate on a busy machine. */
const reportMs = size({ gate: 2_000, full: plan.everyMs })
/** In the seconds of the gate the bot opens what it opens once: connections that are kept, and the thread of
 *  the store with its pipes and its handle. One descriptor for each message or channel would be far more. */
const mostDescriptors = size({ gate: 16, full: 2 })
const mostGrowth = 4e6
const server = { id: '500', name: 'Lab' }
const channels = Array.from({ length: count }, (_, n): LoopbackChannel => {
  return { id: String(10_000 + n), name: `channel-${n}`, serverId: server.id, parentId: null, userId: null }
})

/** Starts the bot on a store of its own. Its n-th operation is a message in the next channel. */
async function startBot(discord: LoopbackDiscord, folder: string): Promise<SoakSubject> {
  const report = join(folder, 'report')
  const { options, env } = reporting(report, { everyMs: reportMs })
  const bin = join(import.meta.dirname, '../../src/cli/bin.ts')
  const child = spawn(process.execPath, [...options, bin, 'discord', '--db', join(folder, 'soak.db')], {
    cwd: folder,
    env: {
      ...strangeEnvironment(folder, process.env),
      ...env,
      DISCORD_TOKEN: discord.token,
      SKEIN_DISCORD_API: discord.api,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => signalTo(child.pid!, 'SIGKILL'))
  const ended = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), ended])
  return {
    pid: child.pid!,
    report,
    logBytes: () => 0,
    async perform(n) {
      const place = channels[n % count]!
      const asked = discord.say(place, discord.owner, `<@900> My number is ${n}`)
      await discord.until(() => discord.answerTo(asked))
    },
    async stop() {
      child.kill('SIGTERM')
      expect((await ended)[0]).toBe(0)
    },
  }
}

it('does not grow while people talk in 2,000 channels of Discord (R28)', {
  timeout: plan.ms + 3_600_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'discord-soak-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const discord = await startLoopbackDiscord({ servers: [server], channels })
  onTestFinished(() => discord.close())
  const bot = await startBot(discord, folder)
  const { operations, memory, heap, outside, descriptors, threads } = await soak(bot, plan)
  await bot.stop()
  note('channels', count)
  note('messages', operations)
  note('memory (MB)', memory.last / 1e6)
  note('growth (MB)', memory.growth / 1e6)
  note('slope (MB/h)', memory.slope / 1e6)
  note('slope outside the pages of V8 (MB/h)', outside.slope / 1e6)
  note('heap (MB)', heap.last / 1e6)
  note('heap growth (MB)', heap.growth / 1e6)
  note('heap slope (MB/h)', heap.slope / 1e6)
  note('descriptors', descriptors.join(' → '))
  note('threads', threads.join(' to '))
  await using store = await openStore(join(folder, 'soak.db'))
  const page = await store.listConversations({ channel: 'discord', limit: 1_000 })
  expect(page.items).toHaveLength(Math.min(count, 1_000))
  expect(descriptors[1]).toBeLessThanOrEqual(descriptors[0] + mostDescriptors)
  if (!isFull) return
  expect(memory.growth).toBeLessThan(mostGrowth)
  expect(heap.growth).toBeLessThan(mostGrowth)
})
