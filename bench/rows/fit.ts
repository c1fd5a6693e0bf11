import { fit } from '../../src/context/fit/fit.ts'
import type { Window } from '../../src/context/fit/window.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { Message } from '../../src/core/message.ts'
import { estimateTokens } from '../../src/core/tokens.ts'
import { median, middleOf, pairedRatio, timeEach } from '../measure.ts'
import { rounds, type Suite, seriesOf, time } from '../suite.ts'
import { makeTurns, type WorkMessage } from '../workload.ts'

const groups = 10
const messages = 5_000

/** Microseconds. */
interface Fits {
  readonly window: number
  readonly all: number
  readonly copy: number
}

/** 5,000 messages as a store returns them. */
function makePath(): Message[] {
  let pathTokens = 0
  return makeTurns(0, messages / 4)
    .flatMap(turn => turn.messages as readonly WorkMessage[])
    .map(({ role, content: blocks }, seq): Message => {
      const tokens = estimateTokens(blocks)
      pathTokens += tokens
      return {
        id: seq.toString(36).padStart(32, 'a') as MessageId,
        conversationId: '00000000-0000-4000-8000-000000000000' as ConversationId,
        parentId: null,
        seq,
        depth: seq,
        role,
        content: blocks,
        plain: false,
        metadata: null,
        createdAt: new Date(seq),
        tokens,
        pathTokens,
        turn: null,
        step: null,
        label: null,
        erased: null,
        blobs: [],
      }
    })
}

/** The lower bound: a new message of role and blocks for each stored one. */
function copy(path: readonly Message[]): readonly object[] {
  return path.map(({ role, content: blocks, id }) => ({
    role,
    content: blocks.map(block => ({ ...block })),
    id,
  }))
}

async function* fitting(): AsyncGenerator<Fits> {
  const path = makePath()
  const fitted = (window: Window, most: number) => () => {
    const { messages } = fit(path, window, { system: 'You are a careful agent.' })
    if (messages.length > most) throw new Error(`${messages.length} messages were fitted`)
  }
  const window = fitted({ limit: 128_000 }, 1_000)
  const all = fitted({ limit: 100_000_000 }, messages + 1)
  for (const call of [window, all, () => copy(path)]) await timeEach(40, call)
  for (let group = 0; group < groups; group++) {
    yield {
      window: median(await timeEach(20, window)),
      all: median(await timeEach(20, all)),
      copy: median(await timeEach(20, () => copy(path))),
    }
  }
}

export const fitSuite: Suite = {
  name: 'fit',
  when: 'byName',
  tasks: { fitting },
  async run(bench) {
    const { ours } = await rounds<'ours', Fits>(
      bench.scale.rounds,
      ['ours'],
      { suite: 'fit', task: 'fitting' },
      () => ({}),
    )
    const taken = (key: keyof Fits) => middleOf(seriesOf(ours, key))
    const line = (work: string, key: 'window' | 'all') => ({
      work,
      floor: `${time(taken('copy'))} to copy them`,
      ours: time(taken(key)),
      ratio: pairedRatio(seriesOf(ours, key), seriesOf(ours, 'copy')),
      value: taken(key) / 1_000,
      goal: 5,
      note: 'the goal is in ms',
    })
    return [
      line('fit 5,000 messages into 128k tokens', 'window'),
      line('fit 5,000 messages that all fit', 'all'),
    ]
  },
}
