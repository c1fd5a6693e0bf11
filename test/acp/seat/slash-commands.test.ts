import { expect, it } from 'vitest'
import { createSlashCommands } from '../../../src/acp/seat/slash-commands.ts'
import { messageId } from '../../../src/index.ts'

const [a, b, c] = ['a', 'b', 'c'].map(letter => messageId(letter.repeat(32))) as [never, never, never]
const words = (content: string) => [{ role: 'user', content }] as const

function announced() {
  const commands = createSlashCommands()
  commands.announced(['init'])
  return commands
}

it.each([
  ['/init', true],
  ['/init with words', true],
  ['/initial', false],
  ['/usr/bin/init', false],
  ['run /init', false],
  ['/', false],
  ['', false],
])('runs a command of the agent: %j %s', (text, runs) => {
  expect(announced().isRunBy(words(text))).toBe(runs)
})

it('owes the history before the first of several commands, in their session only', () => {
  const commands = announced()
  commands.ranUntold('s', a, b)
  commands.ranUntold('s', b, c)
  expect(commands.untoldUpTo('s', c)).toBe(a)
  expect(commands.untoldUpTo('other', c)).toBe(c)
})

it('owes everything if the branch has moved since the command', () => {
  const commands = announced()
  commands.ranUntold('s', a, b)
  expect(commands.untoldUpTo('s', c)).toBe(c)
})

it('owes the system prompt until a prompt that runs no command', () => {
  const commands = announced()
  expect(commands.needsSystem('s', true, words('/init'))).toBe(false)
  expect(commands.needsSystem('s', false, words('/init'))).toBe(false)
  expect(commands.needsSystem('s', false, words('hello'))).toBe(true)
  expect(commands.needsSystem('s', false, words('hello'))).toBe(false)
})
