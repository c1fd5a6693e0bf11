import { expect, it } from 'vitest'
import { plainGist } from '../../../src/cli/output/plain-gist.ts'

const gist = (role: 'user' | 'assistant', text: string) =>
  plainGist({ role, content: [{ type: 'text', text }], erased: null } as never)

it('shows an answer in one line without the marks of Markdown', () => {
  const answer = [
    '# Storms',
    'The **reload** closes *every* `socket` of snake_case_name, see [this](https://a.example).',
    '```ts',
    'const a = 2 * b * c',
    '```',
    '| option | load |',
    '|---|---:|',
    '| jitter | low |',
    '> quoted',
  ].join('\n')
  expect(gist('assistant', answer)).toBe(
    'Storms The reload closes every socket of snake_case_name, see this. const a = 2 * b * c option · load jitter · low quoted',
  )
})

it('leaves the words of a person as they are', () => {
  expect(gist('user', '# **a**')).toBe('# **a**')
})
