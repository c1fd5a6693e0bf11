import { describe, expect, it, vi } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { start, storeOf } from '../running.ts'
import { home } from '../skein.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

// Long enough for a busy machine to interrupt it.
const slow = `/slow 100 one two three four five six seven eight nine ten ${'and so on '.repeat(100)}`

describe('an interrupted answer', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'is stored after %s, with its id, and can be continued',
    async signal => {
      using here = home()
      const run = start(here, [slow])
      await run.says('one two three')
      run.kill(signal)
      const { stdout, stderr, code } = await run.ended
      expect(code).toBe(130)
      expect(stdout).toMatch(/^one two three.*\n$/)
      const id = /! stopped after [\d.]+ m?s, saved as ([a-z2-7]{6})\. Continue: skein -c \1 "…"\n$/.exec(
        stderr,
      )?.[1]
      expect(id, stderr).toBeDefined()
      await using store = await storeOf(here)
      const { message } = await store.resolve(id!)
      const [half] = await store.getMessages([message!])
      expect(half).toMatchObject({ role: 'assistant', metadata: { interrupted: true } })
      expect(`${textOf(half!)}\n`).toBe(stdout)
      const next = await here.skein(['what did you say?'])
      expect(next.stdout).toContain('one two three')
    },
  )

  it('ends at once at the second Ctrl+C, and the partial answer is stored', async () => {
    using here = home()
    const run = start(here, [slow])
    await run.says('one two three')
    run.kill('SIGINT')
    run.kill('SIGINT')
    expect((await run.ended).code).toBe(130)
    const { stdout } = await here.skein(['what did you say?'])
    expect(stdout).toContain('one two')
  })

  it('is stored up to the point where the reader closed the pipe, without a message', async () => {
    using here = home()
    const run = start(here, [slow])
    await run.says('one two three')
    run.closeOutput()
    const { stdout, stderr, code } = await run.ended
    expect(code).toBe(0)
    expect(stderr).not.toMatch(/EPIPE|skein:/)
    await using store = await storeOf(here)
    const [listed] = (await store.listConversations()).items
    expect(await collectPages(page => store.listTurns(listed!.id, { status: 'open', ...page }))).toEqual([])
    const [half] = await store.getMessages([listed!.branch.head!])
    expect(half).toMatchObject({ role: 'assistant', metadata: { interrupted: true } })
    expect(textOf(half!).startsWith(stdout.trim())).toBe(true)
  })

  it('has the status interrupted and the partial text in JSON', async () => {
    using here = home()
    const run = start(here, ['--json', slow])
    await using store = await storeOf(here)
    await saidSomething(store)
    run.kill('SIGINT')
    const { stdout, code } = await run.ended
    expect(code).toBe(130)
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'interrupted',
      text: expect.stringMatching(/^one/),
      saved: true,
    })
  })

  it('loses at most the last moment after kill -9, and never the question', async () => {
    using here = home()
    const run = start(here, [slow])
    await run.says('one two three four five')
    run.kill('SIGKILL')
    expect((await run.ended).code).toBe(137)
    const next = await here.skein(['what did you say?'])
    expect(next.stderr).toContain('continuing "/slow 100 one two three')
    // Two words arrive in 200 ms.
    expect(next.stderr).toMatch(/now: one two three/)
    expect(next.stdout).toContain('one two three')
  })
})

/** Resolves when a draft is stored. */
async function saidSomething(store: Awaited<ReturnType<typeof storeOf>>): Promise<void> {
  for (;;) {
    const [listed] = (await store.listConversations()).items
    const [turn] = listed
      ? await collectPages(page => store.listTurns(listed.id, { status: 'open', ...page }))
      : []
    if (turn && (await collectPages(page => store.readDraft(turn.conversationId, turn.key, page))).length > 0)
      return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
