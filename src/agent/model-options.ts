import { InvalidError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { ModelOptions } from '../core/model.ts'

/** The model options among other options. */
export function modelOptionsOf(given: ModelOptions): ModelOptions {
  const { maxOutput, temperature, topP, stop, seed, providerOptions } = given
  return {
    ...(maxOutput !== undefined && { maxOutput }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(stop !== undefined && { stop }),
    ...(seed !== undefined && { seed }),
    ...(providerOptions !== undefined && { providerOptions }),
  }
}

/** Merges options. The later ones take precedence, one by one, also within the options of a provider. */
export function mergeModelOptions(before: ModelOptions, now: ModelOptions): ModelOptions {
  const merged = { ...before, ...modelOptionsOf(now) }
  if (!before.providerOptions || !now.providerOptions) return merged
  const providerOptions: Record<string, JsonObject> = { ...before.providerOptions }
  for (const [name, options] of Object.entries(now.providerOptions))
    providerOptions[name] = { ...providerOptions[name], ...options }
  return { ...merged, providerOptions }
}

/** Refuses options that no provider accepts. Throws InvalidError. */
export function checkModelOptions({ maxOutput, temperature, topP, stop, seed }: ModelOptions): void {
  if (maxOutput !== undefined && !(Number.isSafeInteger(maxOutput) && maxOutput > 0))
    throw new InvalidError('maxOutput', 'must be a whole number above 0')
  if (temperature !== undefined && !(Number.isFinite(temperature) && temperature >= 0))
    throw new InvalidError('temperature', 'must be a number from 0')
  if (topP !== undefined && !(topP >= 0 && topP <= 1))
    throw new InvalidError('topP', 'must be a number from 0 to 1')
  if (stop !== undefined && !(Array.isArray(stop) && stop.every(text => typeof text === 'string' && text)))
    throw new InvalidError('stop', 'must be a list of texts that are not empty')
  if (seed !== undefined && !Number.isSafeInteger(seed))
    throw new InvalidError('seed', 'must be a whole number')
}
