import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ListedConversation } from '../../../src/core/listing.ts'
import { openStore } from '../../../src/stores/open.ts'
import { say } from '../../../src/testing/contract/build.ts'
import { timesGiven } from '../../acp/agents/model-server.ts'
import type { Home } from '../skein.ts'
import { storeFile } from '../stock.ts'
import { agentHome } from './with-agents.ts'

/** The settings of a hand-over, from the file and the options to the prompt of the agent. */

const words = (n: number) => `question ${n}: ${'x'.repeat(300)}`

/** Adds ten questions to the only conversation: ten commands would take ten times as long as the rest. */
async function continueChat(here: Home): Promise<void> {
  await using store = await openStore(storeFile(here))
  const [{ branch }] = (await store.listConversations()).items as [ListedConversation]
  let { head } = branch
  for (let n = 1; n < 11; n++) {
    ;({ head } = await store.append(branch, head, [say(words(n)), say(`answer ${n}`, 'assistant')]))
  }
}

describe('skein agent', () => {
  it('tells another agent as much as acp.tell and --tell say, also of a conversation of our own chat', async () => {
    await using at = await agentHome()
    await at.here.skein(['-n', '-m', 'scripted', words(0)])
    await continueChat(at.here)
    await at.here.skein(['-m', 'scripted', words(11)])
    const told = async (flags: readonly string[]) => {
      const { stderr } = await at.piped(['-c', ...flags], 'forgetful', { input: 'continue\n' })
      const asked = at.model.last.messages.map(({ text }) => text).join('\n')
      expect(asked).toContain('User: question 0')
      return { stderr, size: asked.length, old: timesGiven(at.model.last, 'User: question 2:') }
    }
    const whole = await told([])
    expect(whole.old).toBe(1)
    expect(whole.stderr).toMatch(/! began with .*: forgetful is told the conversation as text/)
    writeFileSync(join(at.here.cwd, 'skein.yaml'), 'acp:\n  tell: 1000\n')
    const short = await told([])
    expect(short.old).toBe(0)
    expect(short.size).toBeLessThan(5_000)
    expect(short.stderr).toMatch(/memory: told \d+ of \d+ messages as text/)
    expect((await told(['--tell', '20000'])).old).toBe(1)
  })
})
