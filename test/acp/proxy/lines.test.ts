import { expect, it } from 'vitest'
import { maxLineBytes } from '../../../src/acp/wire/read-lines.ts'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'

it('answers a request with the id as it is written, also beyond 2^53', async () => {
  await using stage = await openStage()
  const editor = await stage.start(behindProxy(agentCommand('forgetful')))
  const ids = ['9007199254740993', '-9007199254740995', '1.50', '1e400', '"9007199254740993"']
  for (const id of ids)
    editor.send(
      `{"jsonrpc":"2.0","id":${id},"method":"session/list","params":{"cwd":${JSON.stringify(stage.cwd)}}}`,
    )
  await editor.until(({ id, result }) => id === ('9007199254740993' as unknown) && result !== undefined)
  for (const id of ids) expect(editor.lines.filter(line => line.includes(`"id":${id},`))).toHaveLength(1)
})

it('refuses a line of the editor that is too long, says so, and exits with 1', async () => {
  await using stage = await openStage()
  const editor = await stage.start(behindProxy(agentCommand('forgetful')))
  editor.send('x'.repeat(maxLineBytes + 10))
  const refusal = await editor.until(({ error }) => error !== undefined)
  expect(refusal).toMatchObject({ id: null, error: { code: -32_600 } })
  expect(await editor.end()).toBe(1)
  expect(editor.complaints).toContain('a line of more than 67108864 bytes')
})
