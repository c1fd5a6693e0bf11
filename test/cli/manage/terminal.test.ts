import { readdirSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { home } from '../skein.ts'
import { hostile, stocked, tell } from '../stock.ts'
import { type Terminal, terminal } from '../terminal.ts'

/** Everything that would control a terminal, except for our own colours and erased lines. */
function foreign({ raw }: Terminal): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are ours
  return raw.replaceAll(/\x1b\[(?:[\d;]*m|[KJ]|\?25[lh]|\d*[GCDAB])/g, '').replaceAll('\r\n', '\n')
}

test('rm asks with counts; only yes removes, and Ctrl+C changes nothing', async () => {
  using here = home()
  const { conversation } = await stocked(here, store => tell(store, { title: hostile }, 'a', 'b', 'c'))
  const question = 'move 3 messages on 1 branch to trash? y/N'

  // Many processes on few cores.
  vi.setConfig({ testTimeout: 120_000 })
  const isThere = () =>
    stocked(here, async store => (await store.getConversation(conversation.id)).trashedAt === null)

  using no = terminal(here, ['rm', conversation.id])
  await no.see(question)
  no.type('\r')
  expect(await no.ended).toBe(0)
  expect(no.screen()).toContain('nothing was changed')
  using stopped = terminal(here, ['rm', conversation.id])
  await stopped.see(question)
  stopped.type('\x03')
  expect(await stopped.ended).toBe(130)
  using ended = terminal(here, ['rm', conversation.id])
  await ended.see(question)
  ended.type('\x04')
  expect(await ended.ended).toBe(0)
  expect(await isThere()).toBe(true)

  using yes = terminal(here, ['rm', conversation.id])
  await yes.see(question)
  yes.type('y\r')
  expect(await yes.ended).toBe(0)
  expect(yes.screen()).toMatch(/in the trash until \d+ \w{3} · undo: skein rm --undo \S{6}/)
  expect(await isThere()).toBe(false)

  using listed = terminal(here, ['trash'], { columns: 60 })
  expect(await listed.ended).toBe(0)
  expect(
    Math.max(
      ...listed
        .screen()
        .split('\n')
        .map(line => line.length),
    ),
  ).toBeLessThanOrEqual(60)
  expect(listed.screen()).toMatch(/^ID +TITLE +DELETED +UNTIL +MSGS\n\S{6} +evil␛/)
  expect(foreign(listed)).not.toMatch(/[^\P{Cc}\n\t]/u)
})

test('the output fits the terminal, and an exported page gets a file', async () => {
  using here = home()
  const { conversation } = await stocked(here, async store => {
    const told = await tell(store, { title: `Storm ${hostile}`, directory: here.cwd }, 'a', hostile)
    const turn = {
      key: '1',
      step: 0,
      model: 'anthropic/claude-sonnet-5-5',
      usage: { input: 900, output: 50, cost: 0.4 },
    }
    await store.append(told.branch, told.branch.head, [{ role: 'user', content: 'c' }], { turn })
    return told
  })
  for (const args of [
    ['stats'],
    ['config'],
    ['config', 'models'],
    ['doctor'],
    ['verify'],
    ['gc', '--dry-run'],
  ]) {
    using run = terminal(here, args, { columns: 72 })
    expect({ args, code: await run.ended }).toEqual({ args, code: 0 })
    expect(foreign(run)).not.toMatch(/[^\P{Cc}\n\t]/u)
    if (args[0] === 'stats') {
      expect(run.screen()).toContain('tokens in/out  900 / 50  900 / 50\ncost              $0.40     $0.40\n')
      expect(run.screen()).toMatch(/^ ?\d+ \w{3} {2}█{30} {2}\$0\.40$/m)
      expect(run.screen()).toMatch(/^sonnet-5\.5 {2}█{30} {2}100%$/m)
    }
  }
  using made = terminal(here, ['export', '--html', conversation.id])
  expect(await made.ended).toBe(0)
  expect(readdirSync(here.cwd)).toEqual([`storm-evil-2j-0-owned-31m-end-${conversation.id.slice(0, 8)}.html`])
  using plain = terminal(here, ['export', conversation.id])
  expect(await plain.ended).toBe(0)
  expect(foreign(plain)).not.toMatch(/[^\P{Cc}\n\t]/u)
})

test('rm of messages says before the question that it is final, and names the conversation', async () => {
  using here = home()
  const { ids, conversation } = await stocked(here, store => tell(store, {}, 'a', 'b', 'c'))
  using asked = terminal(here, ['rm', '--cascade', ids[1]!])
  await asked.see('delete 2 messages for good? y/N')
  expect(asked.screen()).toContain('deleting messages is final: they do not go to the trash')
  expect(asked.screen()).toContain(`skein rm ${conversation.id.slice(0, 6)}`)
  asked.type('\r')
  expect(await asked.ended).toBe(0)
})
