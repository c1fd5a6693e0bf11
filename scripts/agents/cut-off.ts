import { halfOf, questionOf } from './model.ts'
import { notOffered, readCapabilities, tried } from './restart.ts'
import { type Cell, givenToModel, shownIn } from './seen-by.ts'
import { type AgentWorld, quiet } from './world.ts'

/** The state of a turn after everything was killed in the middle of its answer, for the model and for the
 *  editor. */
export interface CutOffCells {
  readonly question: Cell
  readonly half: Cell
  readonly halfShown: Cell
}

export async function cutOff(world: AgentWorld): Promise<CutOffCells> {
  const { model } = world
  const before = await world.start()
  const sessionId = await before.newSession()
  await before.prompt(sessionId, questionOf('whole'))
  await quiet(before)
  model.holdBack('cut')
  const turn = before.prompt(sessionId, questionOf('cut'))
  turn.catch(() => undefined) // the process is killed
  await before.untilShown(sessionId, halfOf('cut'))
  await quiet(before)
  await before.kill9()

  const after = await world.start()
  let [half, halfShown] = [notOffered, notOffered]
  const question = await tried(readCapabilities(after).load, async () => {
    ;[half, halfShown] = ['no', 'no']
    await after.load(sessionId)
    await quiet(after)
    halfShown = shownIn(after, sessionId, { turns: ['whole'], questions: ['cut'], halves: ['cut'] })
    await after.prompt(sessionId, questionOf('then'))
    half = givenToModel(model, 'then', { turns: [], halves: ['cut'] })
    return givenToModel(model, 'then', { turns: ['whole'], questions: ['cut'] })
  })
  await after.kill9()
  return { question, half, halfShown }
}
