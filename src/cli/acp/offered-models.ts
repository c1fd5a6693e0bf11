import type { OfferedModel } from '../../acp/serve/served.ts'
import type { NonEmpty } from '../../core/message.ts'
import type { World } from '../command-line/command-context.ts'
import { fullName, knownAliases, type ModelChoice } from '../model/choose-model.ts'
import { missingKey } from '../model/provider-keys.ts'
import { modelName } from '../output/model-name.ts'

/** What an editor offers to choose from: the model that answers unless another is chosen, then those that have a name here and
 *  whose key is set. */
export function offeredModels({ id, aliases }: ModelChoice, env: World['env']): NonEmpty<OfferedModel> {
  const named = [...Object.keys(aliases), ...Object.keys(knownAliases)].map(name => fullName(name, aliases))
  const others = new Set(named.filter(one => one !== id && missingKey(one, env) === null))
  return [offered(id), ...[...others].map(offered)]
}

function offered(id: string): OfferedModel {
  return { id, name: modelName(id) }
}
