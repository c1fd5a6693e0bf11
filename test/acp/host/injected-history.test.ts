import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { NewMessage } from '../../../src/core/message.ts'
import { agentCommand } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'
import { type Hosting, openHosting } from './hosting.ts'

/** What is injected into an agent that does not know the conversation, and where. */

const [first, second] = [marker('first'), marker('second')]
const opening = [
  '<conversation_history>',
  'The following is the prior conversation history from a previous session.',
  'You should treat this as context you already know about, as if you had this conversation.',
  '',
]

/** Stores messages in a conversation, as another program would. */
async function stored({ store }: Hosting, key: string, messages: readonly NewMessage[]): Promise<void> {
  const { branch } = await store.create({ key })
  const [opens, ...rest] = messages
  await store.append(branch, null, [opens!, ...rest])
}

const turns = (count: number): readonly NewMessage[] =>
  Array.from({ length: count }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: `message ${i}.`,
  }))

describe('the injected history', () => {
  it('is the text of S4-21 in its own block before the prompt, with a line for each tool call (S4-13, S4-16, S4-21, S4-36)', async () => {
    await using hosting = await openHosting()
    await stored(hosting, 'talk', [
      { role: 'user', content: first },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_call', callId: 'c1', name: 'grep', input: { pattern: 'TODO' } },
        ],
      },
      {
        role: 'tool_result',
        content: [{ type: 'tool_result', callId: 'c1', name: 'grep', output: 'src/a.ts:3: TODO' }],
      },
      { role: 'assistant', content: 'There is one.' },
    ])
    const host = hosting.host('joins')
    const { memory } = await host.say('talk', second)
    expect(memory).toMatchObject({ outcome: 'injected', injected: 4, untold: 0 })
    const file = memory!.transcript!
    const note = `Tool calls are one line each, long texts are shortened. The whole conversation, with all results, is in ${file}: read or search this file if you need more.`
    const told = [
      ...opening.slice(0, 3),
      note,
      '',
      `User: ${first}`,
      'Tool: used grep: {"pattern":"TODO"} → "src/a.ts:3: TODO"',
      'Assistant: There is one.',
      '</conversation_history>',
    ].join('\n')
    expect(hosting.model.last.messages).toEqual([{ role: 'user', text: `${told}\n\n${second}` }])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700)
    expect(readFileSync(file, 'utf8')).toContain('Assistant: I look.\nTool: called grep {"pattern":"TODO"}\n')
    await host.close()
    expect(existsSync(file), 'removed with the session').toBe(false)
  })

  it('comes after the system prompt and before the message, each in its own block (S4-17)', async () => {
    await using hosting = await openHosting()
    await stored(hosting, 'talk', [
      { role: 'user', content: first },
      { role: 'assistant', content: 'Noted.' },
    ])
    const log = join(hosting.cwd, 'prompts.jsonl')
    const agent = ['sh', '-c', `tee -a '${log}' | "$0" "$@"`, ...agentCommand('joins')]
    const prompts = () =>
      readFileSync(log, 'utf8')
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line))
        .filter(({ method }) => method === 'session/prompt')
        .map(({ params }) => params.prompt)
    const host = hosting.host(agent, { name: 'joins', system: 'Be terse.' })
    await host.say('talk', second)
    const history = [...opening, `User: ${first}`, 'Assistant: Noted.', '</conversation_history>']
    expect(prompts()).toEqual([
      [
        { type: 'text', text: 'Be terse.' },
        { type: 'text', text: `${history.join('\n')}\n\n` },
        { type: 'text', text: second },
      ],
    ])
    // The session has it now. A new process of an agent that forgets begins a new session.
    await host.say('talk', 'and again')
    expect(prompts()[1]).toEqual([{ type: 'text', text: 'and again' }])
    await host.killAgent()
    await host.say('talk', 'once more')
    expect(prompts()[2][0]).toEqual({ type: 'text', text: 'Be terse.' })
    expect(prompts()[2]).toHaveLength(3)
    // It is the prompt of the conversation, not a message.
    const { conversation } = (await hosting.store.findByKey('talk'))!
    expect(conversation.prompt?.text).toBe('Be terse.')
    expect((await hosting.words('talk')).filter(line => line.includes('terse'))).toEqual([])
  })

  it.each([
    [undefined, 84, 0],
    [1_000, 53, 31],
  ])(
    'fits into a number of tokens: with tell %s, %i messages of 84 (S4-24, S4-34)',
    async (tell, count, untold) => {
      await using hosting = await openHosting()
      const long = turns(84).map(one => ({ ...one, content: `${one.content} ${'x'.repeat(40)}` }))
      await stored(hosting, 'talk', long)
      const host = hosting.host('forgetful', tell === undefined ? {} : { tell })
      const { memory } = await host.say('talk', second)
      expect(memory).toMatchObject({ outcome: 'injected', injected: count, untold })
      const [{ text } = { text: '' }] = hosting.model.last.messages
      const told = [...text.matchAll(/message (\d+)\./g)].map(([, n]) => Number(n))
      expect(told).toHaveLength(count)
      expect([told[0], told.at(-1)], 'the first question and the newest answer').toEqual([0, 83])
      expect(text.length / 4).toBeLessThan(tell ?? 24_000)
    },
  )

  it.each(['good', 'forgetful'] as const)(
    'is read from the store, whether or not the agent can resume: %s (S4-23)',
    async agent => {
      await using hosting = await openHosting()
      await stored(hosting, 'talk', turns(4))
      const { memory } = await hosting.host(agent).say('talk', second)
      expect(memory).toMatchObject({ outcome: 'injected', injected: 4, untold: 0 })
      for (const n of [0, 1, 2, 3]) expect(timesGiven(hosting.model.last, `message ${n}.`)).toBe(1)
    },
  )

  it('is sent once for a session, and never if the agent itself remembers (S4-14, S4-18, S4-26)', async () => {
    await using hosting = await openHosting()
    await hosting.host('good').say('talk', first)
    const host = hosting.host('forgetful')
    const told = async (words: string) => {
      const { memory } = await host.say('talk', words)
      return [memory?.outcome, timesGiven(hosting.model.last, '<conversation_history>')]
    }
    expect(await host.isFirstMessage('talk')).toBe(true)
    expect(await told('one')).toEqual(['injected', 1])
    expect(await host.isFirstMessage('talk')).toBe(false)
    expect(await told('two')).toEqual([undefined, 1])
    const good = hosting.host('good')
    const { memory } = await good.say('talk', 'three')
    expect(memory).toMatchObject({ outcome: 'completed', injected: 4 })
    expect(timesGiven(hosting.model.last, first)).toBe(1)
    await hosting.host('good').say('talk', 'four')
    expect(timesGiven(hosting.model.last, '<conversation_history>')).toBe(1)
  })

  it('is the one that the caller passes if the session is new, and not sent if it was resumed (S4-19, S4-25)', async () => {
    await using hosting = await openHosting()
    const history = [
      { role: 'user', content: 'the caller’s own question' },
      { role: 'assistant', content: 'and the answer' },
    ] as const
    const given = [
      ...opening,
      'User: the caller’s own question',
      'Assistant: and the answer',
      '</conversation_history>',
    ].join('\n')
    const host = hosting.host('joins')
    const { memory } = await host.say('talk', first, { history })
    expect(hosting.model.last.messages).toEqual([{ role: 'user', text: `${given}\n\n${first}` }])
    expect(memory).toMatchObject({ outcome: 'injected', injected: 2 })
    expect(await host.wasResumed('talk')).toBe(false)
    await host.say('talk', second, { history })
    expect(timesGiven(hosting.model.last, given)).toBe(1)
    const other = hosting.host(agentCommand('joins'), { name: 'another' })
    await other.say('talk', second, { history })
    expect(timesGiven(hosting.model.last, first), 'instead of what is stored').toBe(0)

    await hosting.host('good').say('kept', first)
    const good = hosting.host('good')
    await good.say('kept', second, { history })
    expect(await good.wasResumed('kept')).toBe(true)
    expect(timesGiven(hosting.model.last, given)).toBe(0)
  })
})

describe('an agent that accepts a system prompt', () => {
  const command = agentCommand('good', '--system-prompt')

  it('gets the history there and not in a prompt, and again on resume and load', async () => {
    await using hosting = await openHosting()
    await stored(hosting, 'talk', turns(4))
    await hosting.host(command).say('talk', first)
    const expectTold = (questions: number) => {
      const [system, ...rest] = hosting.model.last.messages
      expect(system!.role).toBe('system')
      expect(system!.text).toContain([...opening, 'User: message 0.'].join('\n'))
      expect(rest.filter(({ role }) => role === 'user')).toHaveLength(questions)
      expect(rest.some(({ text }) => text.includes('<conversation_history>'))).toBe(false)
      for (const n of [0, 1, 2, 3]) expect(timesGiven(hosting.model.last, `message ${n}.`)).toBe(1)
    }
    expectTold(1)
    const resumed = await hosting.host(command).say('talk', second)
    expect(resumed.memory).toMatchObject({ outcome: 'resumed', injected: 0 })
    expectTold(2)
    const loading = hosting.host([...command, '--without=resume'])
    expect((await loading.say('talk', 'third')).memory).toMatchObject({ outcome: 'loaded', injected: 0 })
    expectTold(3)
    for (const text of [first, answerMarker(1), second, answerMarker(2)])
      expect(timesGiven(hosting.model.last, text)).toBe(1)
    const questions = (await hosting.words('talk')).filter(text => text.startsWith('user'))
    expect(questions.slice(2)).toEqual([`user: ${first}`, `user: ${second}`, 'user: third'])
  })
})
