import { mkdirSync } from 'node:fs'

/** The names under which a test tells its agents where their model is and where they may keep things. */
export const variables = { model: 'TEST_AGENT_MODEL', state: 'TEST_AGENT_STATE' } as const

/** Where the model of this agent listens. */
export function modelUrl(): string {
  return wanted(variables.model)
}

/** The folder of an agent that keeps something. */
export function stateFolder(): string {
  const folder = wanted(variables.state)
  mkdirSync(folder, { recursive: true })
  return folder
}

function wanted(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set`)
  return value
}
