import { mkdirSync } from 'node:fs'

/** The variables that tell agents where their model is and where they may store files. */
export const variables = { model: 'TEST_AGENT_MODEL', state: 'TEST_AGENT_STATE' } as const

/** The address of this agent's model. */
export function modelUrl(): string {
  return wanted(variables.model)
}

/** The folder of an agent that stores files. */
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
