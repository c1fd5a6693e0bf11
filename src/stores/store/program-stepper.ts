import { setImmediate as giveWay } from 'node:timers/promises'
import type { Engine, Program, StatementResult } from '../engine/engine.ts'

/** Milliseconds after which other work in this process gets a turn. */
const givesWayAfter = 10

/** Runs a program with each statement in its own query, and throws the engine's errors into it, so that the
 *  program can continue after unreadable data. The event loop turns between statements. */
export function programStepper(engine: Pick<Engine, 'query'>, signal?: AbortSignal) {
  let gaveWay = performance.now()
  return Object.assign(run, { giveWay: giveWayNowAndThen })

  async function giveWayNowAndThen(): Promise<void> {
    if (performance.now() - gaveWay <= givesWayAfter) return
    await giveWay()
    gaveWay = performance.now()
  }

  async function run<T>(program: Program<T>): Promise<T> {
    let step = program.next()
    while (!step.done) {
      signal?.throwIfAborted()
      await giveWayNowAndThen()
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
