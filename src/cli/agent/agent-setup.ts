import type { Agent } from '../../agent/agent.ts'
import { readConfig } from '../../config/read-config.ts'
import { InvalidError } from '../../core/errors.ts'
import type { World } from '../command-line/command-context.ts'
import type { Speaker } from '../model/model-setup.ts'

/** One who answers by being another program, under this name. */
export async function foreignSpeaker(agent: Agent, name: string, world: World): Promise<Speaker> {
  return {
    model: {
      id: name,
      stream() {
        throw new InvalidError('model', `${name} is a program, and asks a model of its own`)
      },
    },
    choice: { id: name, from: 'flag', aliases: {} },
    config: await readConfig(world.cwd, world.env),
    isForeign: true,
    window: 0,
    options: {},
    contextWindow: { limit: 0 },
    agentOn: async () => agent,
  }
}
