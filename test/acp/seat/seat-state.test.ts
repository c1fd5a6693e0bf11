import { describe, expect, it } from 'vitest'
import {
  costOfTurn,
  nextState,
  routeUpdate,
  type SeatEvent,
  type SeatState,
  sessionIn,
  vacantSeat,
} from '../../../src/acp/seat/seat-state.ts'
import type { SeatSession } from '../../../src/acp/seat/take-seat.ts'
import type { Heard } from '../../../src/acp/transcript/heard.ts'
import type { MessageId } from '../../../src/core/ids.ts'
import { answer, echo } from './seating.ts'

const replay = (isOpen: boolean) => ({ isOpen, count: 0, hear() {}, answered() {}, whole: async () => [] })
const closed = replay(false)
const head = 'm1' as MessageId

function session(facts: Partial<SeatSession> = {}): SeatSession {
  return {
    sessionId: 's1',
    answer: {},
    way: 'new',
    failed: [],
    replay: closed,
    seen: null,
    inSystem: null,
    ...facts,
  }
}

/** The state after these events, from a vacant seat. */
function stateAfter(...events: readonly SeatEvent[]): SeatState {
  return events.reduce(nextState, vacantSeat)
}

const sit = { type: 'sit' } as const
const sat = { type: 'sat', session: session() } as const
const prompt = { type: 'prompt', head, injected: null } as const
const ended = { type: 'ended' } as const
const vacate = { type: 'vacate' } as const
const states = {
  vacant: vacantSeat,
  sitting: stateAfter(sit),
  seated: stateAfter(sit, sat),
  prompting: stateAfter(sit, sat, prompt),
  orphaned: stateAfter(sit, sat, prompt, vacate),
} as const
type Phase = SeatState['phase']

/** The phase that each event leads to, from each phase. */
const transitions: Readonly<Record<SeatEvent['type'], Readonly<Record<Phase, Phase>>>> = {
  sit: {
    vacant: 'sitting',
    sitting: 'sitting',
    seated: 'seated',
    prompting: 'prompting',
    orphaned: 'sitting',
  },
  listen: {
    vacant: 'vacant',
    sitting: 'sitting',
    seated: 'seated',
    prompting: 'prompting',
    orphaned: 'orphaned',
  },
  sat: { vacant: 'seated', sitting: 'seated', seated: 'seated', prompting: 'seated', orphaned: 'seated' },
  sit_failed: {
    vacant: 'vacant',
    sitting: 'vacant',
    seated: 'seated',
    prompting: 'prompting',
    orphaned: 'orphaned',
  },
  begun: { vacant: 'seated', sitting: 'seated', seated: 'seated', prompting: 'seated', orphaned: 'seated' },
  prompt: {
    vacant: 'orphaned',
    sitting: 'orphaned',
    seated: 'prompting',
    prompting: 'prompting',
    orphaned: 'orphaned',
  },
  heard: {
    vacant: 'vacant',
    sitting: 'sitting',
    seated: 'seated',
    prompting: 'prompting',
    orphaned: 'orphaned',
  },
  cost: {
    vacant: 'vacant',
    sitting: 'sitting',
    seated: 'seated',
    prompting: 'prompting',
    orphaned: 'orphaned',
  },
  ended: { vacant: 'vacant', sitting: 'sitting', seated: 'seated', prompting: 'seated', orphaned: 'vacant' },
  seen: {
    vacant: 'vacant',
    sitting: 'sitting',
    seated: 'seated',
    prompting: 'prompting',
    orphaned: 'orphaned',
  },
  drop: { vacant: 'vacant', sitting: 'sitting', seated: 'vacant', prompting: 'vacant', orphaned: 'vacant' },
  vacate: {
    vacant: 'vacant',
    sitting: 'sitting',
    seated: 'vacant',
    prompting: 'orphaned',
    orphaned: 'orphaned',
  },
}

const events: Readonly<Record<SeatEvent['type'], SeatEvent>> = {
  sit,
  listen: { type: 'listen', replay: closed },
  sat,
  sit_failed: { type: 'sit_failed' },
  begun: { type: 'begun', session: session() },
  prompt,
  heard: { type: 'heard' },
  cost: { type: 'cost', soFar: 1 },
  ended,
  seen: { type: 'seen', head },
  drop: { type: 'drop' },
  vacate,
}

describe('the state of a seat', () => {
  const rows = Object.entries(transitions).flatMap(([event, row]) =>
    Object.entries(row).map(([from, to]) => ({ event, from, to })),
  )
  it.each(rows)('$event leads from $from to $to', ({ event, from, to }) => {
    expect(states[from as Phase].phase).toBe(from)
    expect(nextState(states[from as Phase], events[event as SeatEvent['type']]).phase).toBe(to)
  })

  it('has a session only while it is seated or prompting', () => {
    const phases = Object.values(states).filter(state => sessionIn(state) !== null)
    expect(phases.map(({ phase }) => phase)).toEqual(['seated', 'prompting'])
  })

  it('knows from the way of opening whether a session was resumed, also after a prompt', () => {
    for (const way of ['resume', 'load'] as const)
      expect(stateAfter({ type: 'sat', session: session({ way }) })).toMatchObject({ isResumed: true })
    expect(stateAfter(sat, { type: 'seen', head })).toMatchObject({ isResumed: false })
    const resumed = stateAfter({ type: 'sat', session: session({ way: 'resume' }) }, prompt, ended)
    expect(resumed).toMatchObject({ phase: 'seated', isResumed: true, isPrompted: true })
    const forked = session({ way: 'resume', seen: head })
    expect(stateAfter({ type: 'begun', session: forked })).toMatchObject({
      isResumed: false,
      isPrompted: false,
    })
  })

  it('remembers what the agent has seen in the session', () => {
    for (const state of [
      stateAfter(sat, { type: 'seen', head }),
      stateAfter(sat, prompt, { type: 'seen', head }),
    ])
      expect(sessionIn(state)).toMatchObject({ seen: head, way: 'resume' })
  })

  it('knows whether the agent has sent an update since the prompt, also after the process has ended', () => {
    expect(stateAfter(sat, prompt)).toMatchObject({ isHeard: false, head })
    expect(stateAfter(sat, prompt, { type: 'heard' })).toMatchObject({ isHeard: true })
    expect(stateAfter(sat, prompt, { type: 'heard' }, vacate)).toMatchObject({ isHeard: true })
    expect(stateAfter(sat, prompt, vacate)).toMatchObject({ isHeard: false })
    expect(stateAfter(sat, prompt, { type: 'heard' }, ended, prompt)).toMatchObject({ isHeard: false })
  })

  it('listens to the window of the request that was sent last, and to none after the process has ended', () => {
    const first = replay(true)
    expect(stateAfter(sit, { type: 'listen', replay: first })).toMatchObject({ replay: first })
    expect(stateAfter(sit, { type: 'listen', replay: first }, vacate)).toMatchObject({ replay: null })
  })

  it('collects the injected text of a session until the next one is open', () => {
    const told = (injected: string) => ({ type: 'prompt', head, injected }) as const
    const twice = [sat, told('a'), ended, told('b')] as const
    expect(stateAfter(...twice).injectedText).toBe('ab')
    expect(stateAfter(...twice, vacate, ended, sit).injectedText).toBe('ab')
    expect(stateAfter(...twice, vacate, ended, sit, sat).injectedText).toBe('')
  })
})

describe('the cost of a turn', () => {
  const cost = (soFar: number) => ({ type: 'cost', soFar }) as const

  it('is the difference between the totals that the agent reports before and after it', () => {
    const first = stateAfter(sat, prompt, cost(2), cost(3))
    expect(costOfTurn(first)).toBe(3)
    expect(costOfTurn([ended, prompt, cost(5)].reduce(nextState, first))).toBe(2)
  })

  it('is unknown if the agent reports no total, or the first one of a resumed session', () => {
    expect(costOfTurn(stateAfter(sat, prompt))).toBeNull()
    const resumed = { type: 'sat', session: session({ way: 'resume' }) } as const
    expect(costOfTurn(stateAfter(resumed, prompt, cost(7)))).toBeNull()
    expect(costOfTurn(stateAfter(resumed, prompt, cost(7), cost(9)))).toBe(2)
    const forked = { type: 'begun', session: session({ seen: head }) } as const
    expect(costOfTurn(stateAfter(forked, prompt, cost(7)))).toBeNull()
  })

  it('is known although the process has ended', () => {
    expect(costOfTurn(stateAfter(sat, prompt, cost(1), vacate))).toBe(1)
  })
})

describe('an update of the agent', () => {
  const call: Heard = { type: 'call', call: { callId: 'a' } }
  const prompted = stateAfter(sat, prompt, ended)
  const withWindow = (isOpen: boolean) => session({ replay: replay(isOpen) })
  const injected = '<conversation_history>\nUser: hi\n</conversation_history>\n\n'
  const told = stateAfter(sat, { type: 'prompt', head, injected })
  const routes: readonly (readonly [name: string, SeatState, Heard, to: string, show: string])[] = [
    ['an answer without a session', states.vacant, answer('x'), 'nowhere', 'hide'],
    ['an answer while a session is opened', states.sitting, answer('x'), 'replay', 'hide'],
    [
      'an answer in an open replay',
      stateAfter({ type: 'sat', session: withWindow(true) }),
      answer('x'),
      'replay',
      'hide',
    ],
    ['an answer between replay and first prompt', states.seated, answer('x'), 'nowhere', 'hide'],
    ['an answer during a prompt', states.prompting, answer('x'), 'turn', 'show'],
    ['a call during a prompt', states.prompting, call, 'turn', 'show'],
    ['an answer of a process that has ended', states.orphaned, answer('x'), 'turn', 'show'],
    ['an answer after a prompt', prompted, answer('x'), 'late', 'show'],
    [
      'an answer after a prompt that was shorter than the replay window',
      stateAfter({ type: 'sat', session: withWindow(true) }, prompt, ended),
      answer('x'),
      'late',
      'show',
    ],
    ['an echo of the question', states.prompting, echo('Why?'), 'nowhere', 'show'],
    ['an echo after the prompt', prompted, echo('Why?'), 'nowhere', 'show'],
    ['an echo of the injected text', told, echo('User: hi'), 'nowhere', 'hide'],
    ['an echo of the injected text with the question', told, echo(`${injected}Why?`), 'nowhere', 'hide'],
    ['a title', states.prompting, { type: 'title', title: 'x' }, 'nowhere', 'show'],
    ['a title after an injection', told, { type: 'title', title: 'x' }, 'nowhere', 'hide'],
    ['a mode without a session', states.vacant, { type: 'mode', mode: 'code' }, 'nowhere', 'show'],
    [
      'usage while a session is opened',
      states.sitting,
      { type: 'usage', used: 1, size: 2, cost: 3 },
      'nowhere',
      'show',
    ],
  ]
  it.each(routes)('%s', (_, state, heard, to, show) => {
    expect(routeUpdate(state, heard)).toEqual({ to, show })
  })
})
