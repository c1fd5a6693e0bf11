import { join } from 'node:path'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { streamText } from 'ai'
import { recordTo } from '../../src/adapters/ai-sdk/index.ts'
import type { BranchRef } from '../../src/core/branch.ts'
import type { Store } from '../../src/core/ports.ts'
import { beginTurn } from '../../src/recorder/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { middleOf, pairedRatio } from '../measure.ts'
import { startPacedModel, tokens, tokensPerSecond } from '../paced-model.ts'
import { type Line, rounds, type Suite, seriesOf, time } from '../suite.ts'

/** The cost of recording while an answer streams: the same answers over HTTP, with and without a recorder. */

const names = ['plain', 'recorded'] as const
type Name = (typeof names)[number]

const groups = 2

interface StreamArgs {
  readonly name: Name
  readonly file: string
  readonly url: string
  readonly groups: number
}

/** Microseconds for an answer, and of processor time alone. */
interface Streamed {
  readonly whole: number
  readonly cpu: number
}

/** Calls the model once, recorded if there is a store. */
type Ask = (url: string) => Promise<void>

async function* measured(
  { name, file, url, groups }: StreamArgs,
  begin: (store: Store | null) => Promise<Ask>,
): AsyncGenerator<Streamed> {
  const store = name === 'recorded' ? await openSqliteStore(file) : null
  const ask = await begin(store)
  const warmUp = new URL(url)
  warmUp.searchParams.set('tokens', '500')
  await ask(warmUp.href)
  for (let group = 0; group < groups; group++) {
    const cpu = process.cpuUsage()
    const start = performance.now()
    await ask(url)
    const whole = (performance.now() - start) * 1_000
    const { user, system } = process.cpuUsage(cpu)
    yield { whole, cpu: user + system }
  }
  await store?.close()
}

async function askByHand(store: Store | null): Promise<Ask> {
  const branch = store ? (await store.create()).branch : null
  return url => ask(store, branch, url)
}

/** The AI SDK, with its model plain or recorded. Each answer starts a conversation. */
async function askTheSdk(store: Store | null): Promise<Ask> {
  let asked = 0
  return async url => {
    const { origin, searchParams } = new URL(url)
    const queryParams = Object.fromEntries(searchParams)
    const model = createOpenAICompatible({ name: 'paced', baseURL: origin, queryParams })('paced')
    const recorder = store && recordTo(store, `bench:${asked++}`)
    const { textStream } = streamText({ model: recorder?.(model) ?? model, prompt: 'Tell me everything.' })
    for await (const _ of textStream);
    await recorder?.end()
  }
}

/** One turn: stores the question, the answer while it arrives, and then the complete answer. */
async function ask(store: Store | null, branch: BranchRef | null, url: string): Promise<void> {
  const words = [{ role: 'user', content: 'Tell me everything.' }] as const
  const turn = store && branch ? await beginTurn(store, branch, { words }) : null
  let answer = ''
  for await (const token of tokensOf(url)) {
    answer += token
    turn?.draft({ type: 'text', text: token })
  }
  await turn?.add([{ role: 'assistant', content: answer }], { usage: { output: tokens } })
  await turn?.end('complete')
}

interface Chunk {
  readonly choices: readonly [{ readonly delta: { readonly content?: string } }]
}

async function* tokensOf(url: string): AsyncGenerator<string> {
  const { body } = await fetch(url)
  let rest = ''
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    const events = (rest + chunk).split('\n\n')
    rest = events.pop()!
    for (const event of events) {
      const data = event.slice('data: '.length)
      if (data === '[DONE]') return
      yield (JSON.parse(data) as Chunk).choices[0].delta.content ?? ''
    }
  }
}

export const recorderSuite: Suite = {
  name: 'recorder',
  when: 'byName',
  tasks: {
    stream: (args: StreamArgs) => measured(args, askByHand),
    sdk: (args: StreamArgs) => measured(args, askTheSdk),
  },
  async run(bench) {
    const { server, url } = await startPacedModel()
    try {
      const measure = (task: 'stream' | 'sdk', query: string, groups: number) =>
        rounds<Name, Streamed>(
          bench.scale.rounds,
          names,
          { suite: 'recorder', task },
          (name, round): StreamArgs => {
            const file = join(bench.place, `recorder-${task}-${round}.db`)
            return { name, file, url: `${url}${query}`, groups }
          },
        )
      return linesOf(
        await measure('stream', '', groups),
        await measure('stream', '?hurry', 10),
        await measure('sdk', '', 1),
        await measure('sdk', '?hurry', 10),
      )
    } finally {
      server.close()
      server.closeAllConnections()
    }
  },
}

type Measured = Record<Name, Streamed[][]>

function linesOf(paced: Measured, hurried: Measured, sdk: Measured, hurriedSdk: Measured): readonly Line[] {
  const compare = (measured: Measured, key: keyof Streamed, work: string): Line => {
    const [plain, recorded] = names.map(name => seriesOf(measured[name], key)) as [number[][], number[][]]
    const ratio = pairedRatio(recorded, plain)
    return { work, floor: time(middleOf(plain)), ours: time(middleOf(recorded)), ratio }
  }
  const pace = `${tokensPerSecond.toLocaleString('en')} a second`
  const answer = `answer of ${tokens.toLocaleString('en')} tokens, recorded ÷ not`
  return [
    {
      ...compare(paced, 'whole', `${answer}, at ${pace}`),
      goal: 1.03,
    },
    {
      ...compare(hurried, 'whole', `${answer}, as quickly as HTTP brings it`),
      note: 'three durable writes a turn',
    },
    compare(paced, 'cpu', 'processor time of the same answer, paced'),
    { ...compare(sdk, 'whole', `the same through streamText and recordTo, at ${pace}`), goal: 1.03 },
    {
      ...compare(hurriedSdk, 'whole', 'the same through streamText and recordTo, in a hurry'),
      note: 'a new conversation each',
    },
    compare(sdk, 'cpu', 'processor time of streamText and recordTo, paced'),
  ]
}
