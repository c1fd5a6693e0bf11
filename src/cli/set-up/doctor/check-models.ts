import { fullModelName } from '../../../api/full-model-name.ts'
import type { Config } from '../../../config/config.ts'
import { providerAccess } from '../../../config/provider-settings.ts'
import { keysFile } from '../../../config/stored-keys.ts'
import { modelName } from '../../../core/model-name.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import { chooseModel, unknownModel } from '../../model/choose-model.ts'
import { type KeySource, keySource, missingKey, providers } from '../../model/provider-keys.ts'
import { tildify } from '../../output/tildify.ts'
import type { Check } from './check.ts'
import { othersMayRead } from './check-store.ts'

/** The models that the configuration names, by the setting that names them. */
function namedModels(config: Config): readonly (readonly [setting: string, name: string])[] {
  return [
    ...(config.model === null ? [] : [['model', config.model] as const]),
    ...Object.entries(config.models).map(([alias, name]) => [`models.${alias}`, name] as const),
    ...Object.entries(config.subagents).flatMap(([name, { model }]) =>
      model === null ? [] : [[`subagents.${name}`, model] as const],
    ),
    ...Object.entries(config.agents).flatMap(([name, agent]) =>
      'command' in agent ? [] : [[`agents.${name}`, agent.model] as const],
    ),
  ]
}

/** Which keys are set and where, which are missing, and which models do not exist. Keys are never printed. */
export async function checkModels(
  config: Config,
  context: CommandContext,
  isOnline: boolean,
): Promise<readonly Check[]> {
  const { env } = context
  const named = namedModels(config)
  const unknown = named.flatMap(([setting, name]): Check[] => {
    const problem = unknownModel(name, config.models)
    return problem
      ? [{ name: 'model', status: 'failed', message: `${setting}: ${problem.message}. ${problem.hint}` }]
      : []
  })
  const chosen = chooseModel({ arguments: [], options: {} }, env, config).id
  const ids = [chosen, ...named.map(([, name]) => fullModelName(name, config.models))]
  const wanted = [...new Set(ids)].filter(id => id.includes('/') && unknownModel(id, {}) === null)
  return [
    checkKeys(wanted, config, context),
    ...checkKeyFile(config, context),
    ...unknown,
    ...(isOnline ? await probeModels(wanted, config, context) : []),
  ]
}

function checkKeys(wanted: readonly string[], config: Config, { env }: CommandContext): Check {
  const set = providers.flatMap(provider => {
    const source = keySource(provider, env, config)
    return source === null ? [] : whereText(provider.name, source, env)
  })
  const lacking = Map.groupBy(wanted, model => missingKey(model, env, config))
  lacking.delete(null)
  const failing = [...lacking].map(
    ([variable, models]) =>
      `${models.map(modelName).join(', ')} ${models.length === 1 ? 'needs' : 'need'} ${variable}`,
  )
  const first =
    set.length === 0
      ? 'no API key is set, so only the demo model and local models work. To set one: skein config keys set anthropic'
      : `${set.join(', ')} ${set.length === 1 ? 'is' : 'are'} set`
  return {
    name: 'keys',
    status: failing.length > 0 || set.length === 0 ? 'note' : 'ok',
    message: [first, ...failing].join('. '),
  }
}

function whereText(provider: string, source: KeySource, env: CommandContext['env']): string {
  return 'variable' in source ? source.variable : `the key of ${provider} in ${tildify(source.file, env)}`
}

/** A file with a key that others can read. */
function checkKeyFile(config: Config, { env }: CommandContext): readonly Check[] {
  const files = new Set<string>()
  for (const [path, source] of Object.entries(config.sources))
    if (/^providers\..*\.key$|^discord\.token$/.test(path) && 'file' in source) files.add(source.file)
  files.add(keysFile(env))
  return [...files].filter(othersMayRead).map(file => ({
    name: 'keys',
    status: 'note',
    message: `others may read ${tildify(file, env)}, which has a key. To keep it to yourself: chmod 600 ${tildify(file, env)}`,
  }))
}

/** Asks the providers. A model whose key is missing is not asked for. */
async function probeModels(
  wanted: readonly string[],
  config: Config,
  { env }: CommandContext,
): Promise<readonly Check[]> {
  const { probeModel } = await import('../../../models/probe.ts')
  const access = { env, ...providerAccess(env, config.providers) }
  const asked = wanted.filter(id => missingKey(id, env, config) === null)
  return Promise.all(
    asked.map(async (id): Promise<Check> => {
      const [provider = ''] = id.split('/', 1)
      const result = await probeModel(id, access)
      const about = providers.find(({ name }) => name === provider)
      const source = about === undefined ? null : keySource(about, env, config)
      const key = source === null ? 'the key' : whereText(provider, source, env)
      switch (result.outcome) {
        case 'ok':
          return {
            name: 'model',
            status: 'ok',
            message: `${provider} accepts the key and has ${modelName(id)}`,
          }
        case 'key_refused':
          return {
            name: 'keys',
            status: 'failed',
            message: `${provider} refuses ${key} (${result.status}). Set another: skein config keys set ${provider}`,
          }
        case 'no_model':
          return {
            name: 'model',
            status: 'failed',
            message: `${provider} does not have ${id.slice(provider.length + 1)}`,
          }
        case 'unknown':
          return {
            name: 'model',
            status: 'note',
            message: `${provider} could not be asked for ${modelName(id)}: ${result.reason}`,
          }
      }
    }),
  )
}
