import { describe, expect, it } from 'vitest'
import { catalogue } from '../../scripts/agents/catalogue.ts'
import { questionOf, startMarkedModel } from '../../scripts/agents/model.ts'
import { givenToModel } from '../../scripts/agents/seen-by.ts'
import { tableOf } from '../../scripts/agents/table.ts'

/** The rules by which `npm run agents` judges. The agents themselves need the npm registry, and are not part
 *  of the gate. */

async function ask(url: string, messages: readonly object[]): Promise<string> {
  const body = { model: 'm', stream: false, messages, tools: [tool] }
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) })
  const { choices } = (await answer.json()) as { choices: [{ message: { content: string } }] }
  return choices[0].message.content
}

const tool = { type: 'function', function: { name: 'read', parameters: { type: 'object' } } }
const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })

describe('npm run agents', () => {
  it('answers yes only if the model received every turn exactly once', async () => {
    const model = await startMarkedModel()
    const first = await ask(model.url, [user(questionOf('one'))])
    expect(first).toBe('ANSWER-one. Understood.')
    const verdict = async (...before: readonly object[]) => {
      await ask(model.url, [...before, user(questionOf('two')), user('<reminder>Be brief.</reminder>')])
      return givenToModel(model, 'two', { turns: ['one'] })
    }
    expect(givenToModel(model, 'two', { turns: ['one'] })).toBe('no: the model was not asked')
    expect(await verdict()).toBe('no')
    expect(await verdict(user(questionOf('one')))).toBe('in part')
    expect(await verdict(user(questionOf('one')), assistant(first))).toBe('yes')
    expect(await verdict(user(`${questionOf('one')}\n${first}`))).toBe('yes')
    expect(await verdict(user(first), user(questionOf('one')), assistant(first))).toBe('no: ANSWER-one. 2×')
    await model.close()
  })

  it('has a row for each agent and way, with the reason if it did not run', () => {
    const [agent] = catalogue
    const table = tableOf([
      { agent: agent!, way: 'directly', day: '', cells: { failed: 'no | registry\nat x' } },
    ])
    expect(table.split('\n')[2]).toMatch(
      /^\| opencode-ai 1\.18\.33 \| directly \| did not run: no \\\| registry \|/,
    )
    const cells = table.split('\n').map(line => line.replaceAll('\\|', '').split('|').length)
    expect(new Set(cells).size).toBe(1)
  })

  it('pins every package', () => {
    for (const { packages } of catalogue) for (const one of packages) expect(one).toMatch(/.@\d+\.\d+\.\d+$/)
    expect(new Set(catalogue.map(({ name }) => name)).size).toBe(catalogue.length)
  })
})
