import type { Engine, Program, StatementResult } from '../engine/engine.ts'
import { createPace } from './pace.ts'

/** Runs a program with each statement in its own query, and throws the engine's errors into it, so that the
 *  program can continue after unreadable data. The event loop turns between statements. */
export function programStepper(engine: Pick<Engine, 'query'>, signal?: AbortSignal) {
  const { breathe } = createPace({ ...(signal && { signal }) })
  return Object.assign(run, { giveWay: breathe })

  async function run<T>(program: Program<T>): Promise<T> {
    let step = program.next()
    while (!step.done) {
      await breathe()
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
