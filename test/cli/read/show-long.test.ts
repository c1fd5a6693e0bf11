import { afterAll, describe, expect, test } from 'vitest'
import type { MessageId } from '../../../src/core/ids.ts'
import { summarise } from '../../../src/testing/contract/build.ts'
import { home } from '../skein.ts'
import { stocked } from '../stock.ts'
import { terminal } from '../terminal.ts'

describe('skein show of a long path', () => {
  const long = home()
  afterAll(() => long[Symbol.dispose]())
  const made = stocked(long, async store => {
    const { conversation, branch } = await store.create({ title: 'Long', directory: long.cwd })
    let head: MessageId | null = null
    const ends: MessageId[] = []
    // Each call is one message before its result, and parts have 500 messages: some pairs are split.
    for (let n = 0; n < 431; n++) {
      const call = {
        type: 'tool_call',
        callId: `call ${n}`,
        name: 'read',
        input: { path: `file-${n}` },
      } as const
      const result = {
        type: 'tool_result',
        callId: `call ${n}`,
        name: 'read',
        output: `result ${n}`,
      } as const
      const turn = { key: `turn ${n}`, step: 0, status: 'complete', model: `model-${n}` } as const
      const appended = await store.append(
        branch,
        head,
        [
          { role: 'user', content: `question ${n}` },
          { role: 'assistant', content: [call] },
          { role: 'tool_result', content: [result] },
        ],
        { turn },
      )
      ends.push(appended.head)
      head = appended.head
    }
    await summarise(store, conversation.id, ...[9, 199, 399].map(n => [ends[0]!, ends[n]!] as const))
    return conversation.id
  })

  test('shows the newest 200 messages on a terminal, and names the command for the rest', async () => {
    const id = await made
    const env = { NO_COLOR: '1', PAGER: 'cat' }
    using shown = terminal(long, ['show', id], { env })
    await shown.ended
    const text = shown.raw.replaceAll('\r\n', '\n')
    expect(text).toMatch(/main · 1,293 messages/)
    expect(text).toContain('... 1,093 earlier messages ...')
    expect(text).toMatch(new RegExp(`the newest 200 of 1,293 messages · all: skein show ${id} --all\n$`))
    expect(text).toContain('question 430')
    expect(text).toContain('model-430')
    expect(text).not.toContain('question 363\n')
    expect(text.match(/^You {2}/gm)).toHaveLength(66)
    using all = terminal(long, ['show', '--all'], { env })
    await all.ended
    expect(all.raw.match(/^You {2}/gm)).toHaveLength(431)
    expect(all.raw).not.toContain('the newest 200')
    using outline = terminal(long, ['show', '--path'], { env })
    await outline.ended
    expect(outline.raw).toContain('all: skein show --all --path')
  })

  test('prints every message once in a pipe, with each result at its call and each model at its answer', async () => {
    const id = await made
    const { stdout } = await long.skein(['show', id])
    expect(stdout.match(/^## You/gm)).toHaveLength(431)
    const answers = [...stdout.matchAll(/^## model-(\d+) .*\n\n- read: file-(\d+) · result (\d+)$/gm)]
    expect(answers).toHaveLength(431)
    for (const [, model, file, result] of answers) expect([file, result]).toEqual([model, model])
    const json = JSON.parse((await long.skein(['show', id, '--json'])).stdout)
    expect(json.path).toHaveLength(1_293)
    expect(json.path.map((one: { seq: number }) => one.seq)).toEqual(
      json.path.map((_: unknown, i: number) => i),
    )
    expect(json.path[1].model).toBe('model-0')
    using pretty = terminal(long, ['show', id, '--json'], { columns: 10_000 })
    await pretty.ended
    expect(JSON.parse(pretty.raw)).toEqual(json)
    expect(pretty.raw.replaceAll('\r\n', '\n')).toBe(`${JSON.stringify(json, null, 2)}\n`)
    const branch = await long.skein(['show', id, '--json=branch'])
    expect(JSON.parse(branch.stdout)).toEqual({ branch: 'main' })
    // Summaries end in the first, the second and the third part.
    expect(stdout.match(/^> summary from /gm)).toHaveLength(3)
    const picked = await long.skein(['show', id, '--json=summaries,draft'])
    expect(json.summaries).toHaveLength(3)
    expect(JSON.parse(picked.stdout)).toEqual({ summaries: json.summaries, draft: null })
    const wrong = await long.skein(['show', id, '--json=pth'])
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toContain('there is no field pth')
    const from = await long.skein(['show', id, '--from', json.path[300].id])
    expect(from.stdout.match(/^## You/gm)).toHaveLength(331)
  })
})
