import { questionOf } from './model.ts'
import { notOffered, readCapabilities, tried } from './restart.ts'
import type { Cell } from './seen-by.ts'
import { type AgentWorld, quiet } from './world.ts'

/** A session with a fork that is deleted, and one that is loaded while it is open. */
export interface ReopenedCells {
  readonly deleteFork: Cell
  readonly reload: Cell
}

export async function reopened(world: AgentWorld): Promise<ReopenedCells> {
  return { reload: await loadedAgain(world), deleteFork: await deletedWithFork(world) }
}

interface Settings {
  readonly modes?: {
    readonly currentModeId: string
    readonly availableModes: readonly { readonly id: string }[]
  }
  readonly models?: object | null
  readonly configOptions?: readonly { readonly id: string }[] | null
}

/** Sets another mode, loads the open session again, and compares its settings. */
async function loadedAgain(world: AgentWorld): Promise<Cell> {
  const client = await world.start()
  const cell = await tried(readCapabilities(client).load, async () => {
    const made = (await client.request('session/new', { cwd: world.cwd, mcpServers: [] })) as Settings & {
      readonly sessionId: string
    }
    const { sessionId, modes } = made
    await client.prompt(sessionId, questionOf('open'))
    const other = modes?.availableModes.find(({ id }) => id !== modes.currentModeId)?.id
    if (other !== undefined) await client.request('session/set_mode', { sessionId, modeId: other })
    await quiet(client)
    const loaded = ((await client.load(sessionId)) ?? {}) as Settings
    await quiet(client)
    if (other !== undefined && loaded.modes?.currentModeId !== other)
      return `no: mode ${loaded.modes?.currentModeId ?? 'missing'}`
    if (made.models && !loaded.models) return 'no: models missing'
    const ids = ({ configOptions }: Settings) => (configOptions ?? []).map(({ id }) => id).join()
    return ids(made) === ids(loaded) ? 'yes' : 'no: options differ'
  })
  await client.kill9()
  return cell
}

/** Deletes a session of which a fork exists, restarts, and looks for it. */
async function deletedWithFork(world: AgentWorld): Promise<Cell> {
  const client = await world.start()
  const can = readCapabilities(client)
  if (!can.fork || !can.delete || !can.list) {
    await client.kill9()
    return notOffered
  }
  const isListed = async (from: typeof client, sessionId: string) => {
    const { sessions } = await from.request('session/list', { cwd: world.cwd })
    return sessions.some((one: { sessionId: string }) => one.sessionId === sessionId)
  }
  const sessionId = await client.newSession()
  await client.prompt(sessionId, questionOf('original'))
  const fork = await client.request('session/fork', { sessionId, cwd: world.cwd, mcpServers: [] })
  await client.prompt(fork.sessionId, questionOf('copy'))
  await client.request('session/delete', { sessionId })
  await quiet(client)
  const atOnce = await isListed(client, sessionId)
  await client.kill9()
  const after = await world.start()
  const later = await isListed(after, sessionId)
  const hasFork = await isListed(after, fork.sessionId)
  const loads = await after.load(sessionId).then(
    () => true,
    () => false,
  )
  await after.kill9()
  if (atOnce || later) return 'no: listed again'
  if (loads) return 'no: it can be loaded'
  return hasFork ? 'yes' : 'no: the fork is gone'
}
