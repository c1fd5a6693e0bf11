import type { WorkTurn } from './workload.ts'

/** Anything that is timed on SQLite: the floor, the floor with hashes as ids, our store, and other libraries.
 */
export interface Contender {
  /** Everything up to `endBulk` is one transaction: it fills a file quickly. */
  beginBulk(): void
  endBulk(): void
  create(id: string, title: string): void | Promise<void>
  /** The head of a conversation, for the first append in a fresh process. */
  head(id: string): Promise<string | null>
  /** Appends in one transaction, expecting this head; returns the new one. */
  append(id: string, head: string | null, turn: WorkTurn): string | Promise<string>
  /** Reads the whole conversation as values and returns the number of messages. */
  load(id: string, head: string): number | Promise<number>
  /** The same with only the fields that a user reads: id, parent, role, time and content. Ours has one
   *  form. */
  loadFew?(id: string, head: string): number | Promise<number>
  /** Reads the newest 40 messages as values and returns their number. */
  tail(id: string, head: string): number | Promise<number>
  /** Reads the newest 20 conversations and returns their number. */
  list(): number | Promise<number>
  fork(id: string, at: string, name: string): void | Promise<void>
  close(): void | Promise<void>
}

export type ContenderName = 'floor' | 'floor-hash' | 'ours'
export type PeerName = 'langgraph' | 'mastra'
export type Durability = 'full' | 'normal' | 'off'

/** Opens a contender on a file. `off` is for filling only; the peers use their own settings. */
export async function openContender(
  name: ContenderName | PeerName,
  file: string,
  durability: Durability,
): Promise<Contender> {
  if (name === 'langgraph') return (await import('./peers/langgraph.ts')).openLangGraph(file)
  if (name === 'mastra') return (await import('./peers/mastra.ts')).openMastra(file)
  if (name === 'ours') return (await import('./ours.ts')).openOurs(file, durability)
  return (await import('./floor-sqlite.ts')).openFloor(
    file,
    durability,
    name === 'floor-hash' ? 'hash' : 'time',
  )
}
