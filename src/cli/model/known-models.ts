import { fullModelName, knownAliases } from '../../api/full-model-name.ts'
import type { Config } from '../../config/config.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { missingKey, providers } from './provider-keys.ts'

/** A model that can be named. */
export interface KnownModel {
  /** What a user types: `sonnet`, or the id. */
  readonly name: string
  /** Provider and name. */
  readonly id: string
  /** The variable that it needs and that is not set, or null. */
  readonly missingKey: string | null
}

/** The models with short names, those of the configuration, an example of every other provider, and the
 *  built-in one. */
export function knownModels(config: Config, env: CommandContext['env']): readonly KnownModel[] {
  const { models } = config
  const names = [...new Set([...Object.keys(knownAliases), ...Object.keys(models)])]
  const named = names.map(name => [name, fullModelName(name, models)] as const)
  const others = providers.flatMap(({ example }) =>
    named.some(([, id]) => id === example) ? [] : [[example, example] as const],
  )
  return [...named, ...others, ['scripted', 'scripted'] as const].map(([name, id]) => ({
    name,
    id,
    missingKey: missingKey(id, env, config),
  }))
}
