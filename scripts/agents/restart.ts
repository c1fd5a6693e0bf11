import { type AcpClient, Refused } from '../../test/acp/agents/client.ts'
import { questionOf } from './model.ts'
import { type Cell, givenToModel, shownIn } from './seen-by.ts'
import { type AgentWorld, quiet } from './world.ts'

/** The state of a conversation after everything was killed between two turns, and the methods that still
 *  work. */
export interface RestartCells {
  readonly memory: Cell
  readonly shown: Cell
  readonly list: Cell
  readonly resume: Cell
  readonly fork: Cell
  readonly close: Cell
  readonly delete: Cell
}

export const notOffered = '–'

export async function restart(world: AgentWorld): Promise<RestartCells> {
  const sessionId = await firstTurn(world, 'one')
  const { memory, shown, list, fork } = await afterLoad(world, sessionId)
  const { resume, close } = await afterResume(world, sessionId, memory)
  return { memory, shown, list, resume, fork, close, delete: await deleted(world) }
}

async function firstTurn(world: AgentWorld, name: string): Promise<string> {
  const client = await world.start()
  const sessionId = await client.newSession()
  await client.prompt(sessionId, questionOf(name))
  await quiet(client)
  await client.kill9()
  return sessionId
}

type AfterLoad = Pick<RestartCells, 'memory' | 'shown' | 'list' | 'fork'>

async function afterLoad(world: AgentWorld, sessionId: string): Promise<AfterLoad> {
  const { model } = world
  const client = await world.start()
  const can = readCapabilities(client)
  const list = await tried(can.list, async () => {
    const { sessions } = await client.request('session/list', { cwd: world.cwd })
    const found = sessions.find((one: { sessionId: string }) => one.sessionId === sessionId)
    if (!found) return 'no'
    return /conversation_history/.test(found.title ?? '') ? 'no: its title is what we told' : 'yes'
  })
  let shown: Cell = notOffered
  const memory = await tried(can.load, async () => {
    await client.load(sessionId)
    await quiet(client)
    await client.prompt(sessionId, questionOf('two'))
    await quiet(client)
    shown = shownIn(client, sessionId, { turns: ['one', 'two'] })
    return givenToModel(model, 'two', { turns: ['one'] })
  })
  if (can.load && memory !== 'yes' && shown === notOffered) shown = 'no'
  const fork = await tried(can.fork, async () => {
    const forked = await client.request('session/fork', { sessionId, cwd: world.cwd, mcpServers: [] })
    await client.prompt(forked.sessionId, questionOf('forked'))
    return givenToModel(model, 'forked', { turns: ['one'] })
  })
  await client.kill9()
  return { memory, shown, list, fork }
}

type AfterResume = Pick<RestartCells, 'resume' | 'close'>

async function afterResume(world: AgentWorld, sessionId: string, memory: Cell): Promise<AfterResume> {
  const client = await world.start()
  const can = readCapabilities(client)
  const turns = memory === 'yes' ? ['one', 'two'] : ['one']
  const resume = await tried(can.resume, async () => {
    await client.resume(sessionId)
    await quiet(client)
    const replayed = client.thread(sessionId).messages.length
    await client.prompt(sessionId, questionOf('three'))
    const cell = givenToModel(world.model, 'three', { turns })
    return cell === 'yes' && replayed > 0 ? 'no: it shows the past again' : cell
  })
  const close = await tried(can.close, async () => {
    // Only an open session can be closed, and the previous one may not be open.
    await client.request('session/close', { sessionId: await client.newSession() })
    return 'yes'
  })
  await client.kill9()
  return { resume, close }
}

/** Deletes a session that is not open, as a user does in a list. */
async function deleted(world: AgentWorld): Promise<Cell> {
  const sessionId = await firstTurn(world, 'deleted')
  const client = await world.start()
  const can = readCapabilities(client)
  const cell = await tried(can.delete, async () => {
    await client.request('session/delete', { sessionId })
    if (!can.list) return 'yes'
    await quiet(client)
    const { sessions } = await client.request('session/list', { cwd: world.cwd })
    return sessions.some((one: { sessionId: string }) => one.sessionId === sessionId)
      ? 'no: listed again'
      : 'yes'
  })
  await client.kill9()
  return cell
}

/** The capabilities of an agent. */
export function readCapabilities({ agent }: AcpClient) {
  const { loadSession, sessionCapabilities } = agent.agentCapabilities ?? {}
  const has = (name: string) => Boolean(sessionCapabilities?.[name])
  return {
    load: loadSession === true,
    resume: has('resume'),
    list: has('list'),
    fork: has('fork'),
    close: has('close'),
    delete: has('delete'),
  }
}

/** The cell of an offered method; a refusal becomes its text. */
export async function tried(isOffered: boolean, attempt: () => Promise<Cell>): Promise<Cell> {
  if (!isOffered) return notOffered
  try {
    return await attempt()
  } catch (error) {
    if (error instanceof Refused) return `no: ${error.code}`
    throw error
  }
}
