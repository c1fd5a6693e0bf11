import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generateText, type ModelMessage, tool } from 'ai'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { openStore } from '../../../src/stores/open.ts'
import type { Reply } from '../../support/models/reply.ts'
import { startModelServer } from '../../support/models/server.ts'
import { said, turns } from './setting.ts'
import { modelOf, type Provider } from './setting-models.ts'

interface Life {
  asked(): number
  stored(): Promise<number>
  draft(): Promise<string>
}

/** Runs a process that sends these prompts, kills it when `ripe` resolves, and returns what is stored
 *  then. */
async function killed(
  provider: Provider,
  replies: readonly Reply[],
  ripe: (life: Life) => Promise<void>,
  go: boolean,
) {
  const folder = await mkdtemp(join(tmpdir(), 'skein-killed-'))
  const file = join(folder, 'conversations.db')
  const server = await startModelServer({ reply: ({ n }) => replies[n] ?? 'I continue.' })
  const store = await openStore(file)
  onTestFinished(async () => {
    await server.close()
    await store.close()
    await rm(folder, { recursive: true })
  })
  const program = fileURLToPath(new URL('mortal.ts', import.meta.url))
  const child = fork(program, [file, provider, JSON.stringify(server.baseUrls)], { execArgv: [] })
  child.on('message', () => go && child.send('go'))
  const gone = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  const draft = async () => {
    const place = await store.findByKey('example:ai')
    const [turn] = place
      ? await collectPages(page => store.listTurns(place.conversation.id, { status: 'open', ...page }))
      : []
    const pieces = turn
      ? await collectPages(page => store.readDraft(place!.conversation.id, turn.key, page))
      : []
    return pieces.map(piece => piece.text).join('')
  }
  const stored = async () => (await store.findByKey('example:ai'))?.conversation.messages ?? 0
  await ripe({ asked: () => server.requests.length, stored, draft })
  child.kill('SIGKILL')
  await gone

  const recorded = recordTo(store, 'example:ai')
  const runs: string[] = []
  const look = tool({ inputSchema: z.object({}), execute: async () => `${runs.push('again')}` })
  const messages: ModelMessage[] = [...(await recorded.messages()), { role: 'user', content: 'continue' }]
  const model = recorded(modelOf(provider, server))
  const { text } = await generateText({ model, tools: recorded.tools({ look }), messages })
  expect(text).toBe('I continue.')
  expect(server.requests.map(request => request.refused)).toEqual(server.requests.map(() => null))
  expect(runs).toEqual([])
  const place = await recorded.place()
  return {
    said: await said(store, place),
    turns: (await turns(store, place)).map(line => line.split(' ')[0]),
  }
}

const calls: Reply = { parts: [{ call: { name: 'look', input: {} } }] }
const wait = { timeout: 20_000 }

describe.each(['openai', 'anthropic'] as const)(
  'a process that is killed with %s',
  { timeout: 60_000 },
  provider => {
    it('in the middle of an answer leaves the partial answer, and the next call continues (R27)', async () => {
      const half: Reply = { parts: [{ text: ['half ', 'an '] }, { hang: true }] }
      const after = await killed(
        provider,
        [half],
        ({ draft }) => vi.waitFor(async () => expect(await draft()).toBe('half an '), wait),
        false,
      )
      expect(after.said).toEqual([
        'user: look',
        'assistant: half an ',
        'user: continue',
        'assistant: I continue.',
      ])
      expect(after.turns).toEqual(['interrupted', 'complete'])
    })

    it('while a tool runs leaves the call, which is not run again (R27)', async () => {
      const after = await killed(
        provider,
        [calls],
        ({ stored }) => vi.waitFor(async () => expect(await stored()).toBe(2), wait),
        false,
      )
      expect(after.said.slice(-3)).toEqual([
        'assistant: [look {}]',
        'user: continue',
        'assistant: I continue.',
      ])
      expect(after.turns).toEqual(['interrupted', 'complete'])
    })

    it('after a tool has run leaves its result (R27)', async () => {
      const after = await killed(
        provider,
        [calls, { parts: [{ hang: true }] }],
        ({ asked }) => vi.waitFor(() => expect(asked()).toBe(2), wait),
        true,
      )
      expect(after.said.slice(1, 3)).toEqual(['assistant: [look {}]', 'tool_result: look → seen'])
      expect(after.turns).toEqual(['interrupted', 'complete'])
    })
  },
)
