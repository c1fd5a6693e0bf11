import { mergeModelOptions } from '../../agent/model-options.ts'
import { fullModelName } from '../../api/full-model-name.ts'
import type { Config, ModelSettings } from '../../config/config.ts'
import { numberOptions } from '../../config/model-settings.ts'
import { positive } from '../../config/values.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { ModelOptions } from '../../core/model.ts'
import { similarWords } from '../../core/similar-words.ts'
import { type Args, textOptions } from '../command-line/command.ts'
import { UsageError } from '../command-line/usage-error.ts'

/** The settings of a model by the configuration: those of `options`, then those of its own entries. */
export function settingsOfModel(
  { models, modelSettings, options }: Pick<Config, 'models' | 'modelSettings' | 'options'>,
  id: string,
): ModelSettings {
  let settings: ModelSettings = { window: null, options, price: null }
  for (const [name, own] of Object.entries(modelSettings)) {
    if (fullModelName(name, models).toLowerCase() !== id.toLowerCase()) continue
    settings = {
      window: own.window ?? settings.window,
      options: mergeModelOptions(settings.options, own.options),
      price: own.price ?? settings.price,
    }
  }
  return settings
}

/** The options of one call, given with `-o`. */
export interface CallOptions {
  readonly window: number | null
  readonly options: ModelOptions
}

const known = ['window', ...Object.keys(numberOptions), 'stop']

/** Reads `-o temperature=0.2 -o stop=END -o openai.reasoningEffort=low`. Throws UsageError. */
export function callOptions(args: Args): CallOptions {
  let window: number | null = null
  let options: ModelOptions = {}
  for (const given of textOptions(args, 'option')) {
    const equals = given.indexOf('=')
    const [name, value] = equals === -1 ? [given, ''] : [given.slice(0, equals), given.slice(equals + 1)]
    if (value === '') throw new UsageError(`-o ${given} has no value`, 'As in: -o temperature=0.2')
    const dot = name.indexOf('.')
    if (name === 'window') window = numberIn(name, value, positive)
    else if (name === 'stop') options = { ...options, stop: [...(options.stop ?? []), value] }
    else if (Object.hasOwn(numberOptions, name)) {
      const { field, reader } = numberOptions[name]!
      options = { ...options, [field]: numberIn(name, value, reader) }
    } else if (dot > 0 && dot < name.length - 1)
      options = mergeModelOptions(options, providerOption(name.slice(0, dot), name.slice(dot + 1), value))
    else throw unknownOption(name)
  }
  return { window, options }
}

function numberIn(name: string, value: string, reader: (value: unknown) => number | Error): number {
  const number = reader(value)
  if (number instanceof Error) throw new UsageError(`-o ${name}: "${value}" ${number.message}`)
  return number
}

function providerOption(provider: string, name: string, value: string): ModelOptions {
  const options: JsonObject = { [name]: jsonOr(value) }
  return { providerOptions: { [provider]: options } }
}

/** A value that is not JSON is a text. */
function jsonOr(value: string): Json {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function unknownOption(name: string): UsageError {
  const [near] = similarWords(name, known)
  const meant = near === undefined ? '' : `Did you mean ${near}? `
  return new UsageError(
    `there is no option -o ${name}`,
    `${meant}Known: ${known.join(', ')}; of a provider: -o openai.reasoningEffort=low`,
  )
}
