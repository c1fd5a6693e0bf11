import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fit } from '../../src/context/fit/fit.ts'
import { windowOf } from '../../src/context/fit/model-windows.ts'
import { asText } from '../../src/context/text/as-text.ts'
import { repair } from '../../src/context/view/view.ts'
import { assistant, call, pathOf, text, user } from './path.ts'

const page = readFileSync('docs/context.md', 'utf8')
const blocks = [...page.matchAll(/```(\w*)\n(.*?)```/gs)].map(([, language, code]) => ({ language, code }))

describe('docs/context.md', () => {
  it('has an example that runs', { timeout: 30_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'context-page-'))
    try {
      const code = blocks
        .find(({ language }) => language === 'ts')!
        .code!.replace("'skein/context'", JSON.stringify(resolve('src/context/index.ts')))
        .replace("'skein'", JSON.stringify(resolve('src/index.ts')))
        .replace('conversations.db', ':memory:')
      const file = join(folder, 'example.ts')
      writeFileSync(file, `${code}\nconsole.log(JSON.stringify(fitted))\nawait store.close()\n`)
      const said = execFileSync(process.execPath, [file], { encoding: 'utf8' })
      expect(JSON.parse(said)).toMatchObject({
        messages: [{ role: 'system' }],
        left: [],
        tokens: { budget: 152_000 },
      })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('shows a conversation as asText writes it (S4-21)', () => {
    const used = (name: string) => ({ ...call(name), name })
    const messages = [
      { role: 'user' as const, content: 'Look at it' },
      { role: 'assistant' as const, content: [text('I look.'), used('read_file'), used('bash')] },
    ]
    expect(blocks.find(({ language }) => language === '')!.code).toBe(`${asText(messages)}\n`)
  })

  it('has the wording of the notice and of the synthetic results (S2-43, R27)', () => {
    const notice = fit(pathOf(user('now')), { limit: 1_000 }, { older: 12 }).messages[0]!
    expect(page).toContain(`\`${(notice.content[0] as { text: string }).text}\``)
    for (const reason of ['interrupted', 'failed', 'imported']) {
      const path = pathOf(user('go'), { ...assistant([call('a')]), metadata: { [reason]: true } })
      const { output } = repair(path)[2]!.content[0] as unknown as { output: string }
      expect(page).toContain(`| \`${reason}\` | \`${output}\` |`)
    }
  })

  it('has the windows of an unknown model and of Ollama (S2-45)', () => {
    for (const model of ['acme/brain', 'ollama/llama3.1'])
      expect(page).toContain(windowOf(model).limit.toLocaleString('en'))
  })
})
