import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionUpdate } from '@agentclientprotocol/sdk/unstable'
import { stateFolder } from './environment.ts'

/** The memory of an agent for one session. */
export interface Remembered {
  readonly sessionId: string
  readonly cwd: string
  readonly system: string | null
  readonly mode: string
  readonly updatedAt: string
  readonly entries: readonly Entry[]
}

/** A message: as the model gets it, and as a client gets it on load. */
export interface Entry {
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly updates: readonly SessionUpdate[]
}

/** Where an agent stores its memory. */
export interface Memory {
  find(sessionId: string): Remembered | null
  keep(remembered: Remembered): void
  forget(sessionId: string): void
  all(): readonly Remembered[]
}

/** Ends with the process. */
export function inProcess(): Memory {
  const known = new Map<string, Remembered>()
  return {
    find: id => known.get(id) ?? null,
    keep: remembered => known.set(remembered.sessionId, remembered),
    forget: id => known.delete(id),
    all: () => [...known.values()],
  }
}

/** Survives a kill: a file for each session, never half written. */
export function onDisk(folder: string = stateFolder()): Memory {
  const fileOf = (id: string) => join(folder, `${encodeURIComponent(id)}.json`)
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Remembered
  return {
    find: id => (existsSync(fileOf(id)) ? read(fileOf(id)) : null),
    keep(remembered) {
      const file = fileOf(remembered.sessionId)
      writeFileSync(`${file}.new`, JSON.stringify(remembered))
      renameSync(`${file}.new`, file)
    },
    forget: id => rmSync(fileOf(id), { force: true }),
    all: () =>
      readdirSync(folder)
        .filter(name => name.endsWith('.json'))
        .sort()
        .map(name => read(join(folder, name))),
  }
}
