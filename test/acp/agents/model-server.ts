import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type ModelCall, type Pause, type Step, timesIn } from './step.ts'

/** The model of the test agents: records exactly what it is given, and answers as the test says. */
export interface TestModel {
  /** For the environment of the agent. */
  readonly url: string
  /** The input of each turn, in order. */
  readonly turns: readonly ModelCall[]
  /** The last input. */
  readonly last: ModelCall
  /** The next answer without a rule of its own. */
  next(...steps: readonly (Step | Pause)[]): void
  /** The answer to the next turn whose last message contains this text. */
  answerTo(text: string, ...steps: readonly (Step | Pause)[]): void
  /** Resolves when an answer waits at a `wait`; rejects if none does in time. */
  stopped(): Promise<void>
  /** Continues all answers that wait at a `wait`. */
  proceed(): void
  close(): Promise<void>
}

/** How often a text occurs in the input of a turn, in any role. */
export function timesGiven(turn: ModelCall, text: string): number {
  return turn.messages.reduce((sum, message) => sum + timesIn(message.text, text), 0)
}

/** A recognizable text for a question. The default answer repeats it without its beginning, so that an answer
 *  does not count as the question. */
export const marker = (name: string): string => `MARK-${name}`

/** The text that only the n-th answer contains, unless a test has written it. */
export const answerMarker = (n: number): string => `ANSWER-${n}.`

/** A text in several chunks with pauses between them. */
export function slowly(text: string, ms: number): readonly (Step | Pause)[] {
  return piecesOf(text).flatMap(piece => [
    { type: 'text', text: piece } as const,
    { type: 'rest', ms } as const,
  ])
}

export async function startModel(): Promise<TestModel> {
  const turns: ModelCall[] = []
  const scripts: { readonly about: string; readonly steps: readonly (Step | Pause)[] }[] = []
  let standing: (() => void)[] = []
  let arrivals = Promise.withResolvers<void>()

  function stand(gone: Promise<unknown>): Promise<unknown> {
    const gate = Promise.withResolvers<void>()
    standing.push(gate.resolve)
    arrivals.resolve()
    return Promise.race([gate.promise, gone])
  }

  function stepsFor(turn: ModelCall): readonly (Step | Pause)[] {
    const asked = turn.messages.at(-1)?.text ?? ''
    const at = scripts.findIndex(({ about }) => asked.includes(about))
    return at === -1 ? defaultAnswer(turn, turns.length) : scripts.splice(at, 1)[0]!.steps
  }

  const server = createServer(async (request, response) => {
    const turn = await bodyOf(request)
    turns.push(turn)
    await answer(response, stepsFor(turn), stand)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    turns,
    get last() {
      const turn = turns.at(-1)
      if (!turn) throw new Error('the model was never asked')
      return turn
    },
    next: (...steps) => scripts.push({ about: '', steps }),
    answerTo: (about, ...steps) => scripts.unshift({ about, steps }),
    async stopped() {
      const late = AbortSignal.timeout(20_000)
      const tooLate = once(late, 'abort').then(() => Promise.reject(new Error('no answer came to a wait')))
      await Promise.race([arrivals.promise, tooLate])
    },
    proceed() {
      const gates = standing
      standing = []
      arrivals = Promise.withResolvers()
      for (const open of gates) open()
    },
    async close() {
      server.closeAllConnections()
      if (server.listening) await new Promise(resolve => server.close(resolve))
    },
  }
}

/** Describes the input, for people who read a failure. */
function defaultAnswer({ messages }: ModelCall, n: number): readonly Step[] {
  const asked = messages.filter(({ role }) => role === 'user')
  const found = messages.flatMap(({ text }) => [...text.matchAll(/MARK-([\w-]+)/g)].map(([, name]) => name))
  const text = `${answerMarker(n)} I heard ${asked.length} user turns; markers: ${found.join(', ') || 'none'}`
  return piecesOf(text).map(piece => ({ type: 'text', text: piece }))
}

/** Several chunks, so that the reader has to join them. */
function piecesOf(text: string): readonly string[] {
  return text.match(/.{1,24}/gs) ?? []
}

async function answer(
  response: ServerResponse,
  steps: readonly (Step | Pause)[],
  stand: (gone: Promise<unknown>) => Promise<unknown>,
): Promise<void> {
  const gone = once(response, 'close')
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  response.flushHeaders()
  for (const step of steps) {
    if (response.destroyed) return
    if (step.type === 'wait') await stand(gone)
    else if (step.type === 'rest') await Promise.race([wait(step.ms), gone])
    else response.write(`${JSON.stringify(step)}\n`)
  }
  response.end()
}

async function bodyOf(request: IncomingMessage): Promise<ModelCall> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as ModelCall
}
