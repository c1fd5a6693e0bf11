import { isTurnUsedUp, nextTurn } from '../../system/event-loop-turns.ts'
import type { Engine, Program, StatementResult } from '../engine/engine.ts'

/** Runs a program with each statement in its own query, and throws the engine's errors into it, so that the
 *  program can continue after unreadable data. The event loop turns between statements. */
export function programStepper(engine: Pick<Engine, 'query'>, signal?: AbortSignal) {
  let piece: 'first' | 'next' = 'first'
  return Object.assign(run, { giveWay })

  async function giveWay(): Promise<void> {
    if (isTurnUsedUp()) await nextTurn(piece)
    piece = 'next'
  }

  async function run<T>(program: Program<T>): Promise<T> {
    let step = program.next()
    while (!step.done) {
      signal?.throwIfAborted()
      await giveWay()
      const call = step.value
      let answer: StatementResult
      try {
        answer = await engine.query(function* (): Program<StatementResult> {
          return yield call
        })
      } catch (error) {
        step = program.throw(error)
        continue
      }
      step = program.next(answer)
    }
    return step.value
  }
}
