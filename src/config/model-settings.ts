import { isPlainObject, type Json, type JsonObject } from '../core/json.ts'
import type { ModelOptions } from '../core/model.ts'
import type { ModelSettings, PriceSettings } from './config.ts'
import type { Section } from './section.ts'
import { integer, numberUpTo, positive, type Reader } from './values.ts'

/** A model option with a single number, under its name in the file and after `-o`. */
export interface NumberOption {
  readonly field: 'temperature' | 'topP' | 'maxOutput' | 'seed'
  readonly reader: Reader<number>
}

/** The model options with a single number. */
export const numberOptions: Readonly<Record<string, NumberOption>> = {
  temperature: { field: 'temperature', reader: numberUpTo(Number.POSITIVE_INFINITY) },
  top_p: { field: 'topP', reader: numberUpTo(1) },
  max_output: { field: 'maxOutput', reader: positive },
  seed: { field: 'seed', reader: integer },
}

const optionNames = [...Object.keys(numberOptions), 'stop', 'provider_options']

/** Reads the section `options`. */
export function readOptions(section: Section): ModelOptions {
  section.only(...optionNames)
  return optionsIn(section)
}

/** Reads `models.<name>`, and the model of an alias, if it is given. */
export function readModelSettings(section: Section): ModelSettings & { readonly model: string | null } {
  section.only('model', 'window', ...optionNames, 'price')
  const model = section.json('model')
  if (model !== undefined && typeof model !== 'string') section.refuse('model', 'is not a text')
  return {
    model: typeof model === 'string' ? model.trim() : null,
    window: section.value('window', positive) ?? null,
    options: optionsIn(section),
    price: priceIn(section.section('price')),
  }
}

function optionsIn(section: Section): ModelOptions {
  const options: { -readonly [K in keyof ModelOptions]: ModelOptions[K] } = {}
  for (const [name, { field, reader }] of Object.entries(numberOptions)) {
    const value = section.value(name, reader)
    if (value !== undefined) options[field] = value
  }
  const stop = section.json('stop')
  const stops = stop === undefined ? undefined : stopTexts(stop)
  if (stop !== undefined && stops === undefined)
    section.refuse('stop', 'is neither a text nor a list of texts')
  if (stops !== undefined) options.stop = stops
  const given = section.json('provider_options')
  if (given === undefined) return options
  if (isProviderOptions(given)) options.providerOptions = given
  else section.refuse('provider_options', 'is not a mapping of providers to their options')
  return options
}

function stopTexts(given: Json): readonly string[] | undefined {
  const texts = Array.isArray(given) ? given : [given]
  return texts.length > 0 && texts.every(text => typeof text === 'string' && text !== '') ? texts : undefined
}

function isProviderOptions(given: Json): given is Readonly<Record<string, JsonObject>> {
  return isPlainObject(given) && Object.values(given).every(isPlainObject)
}

function priceIn(section: Section | null): PriceSettings | null {
  if (section === null) return null
  section.only('input', 'output', 'cache_read', 'cache_write')
  const dollars = numberUpTo(Number.POSITIVE_INFINITY)
  const input = section.needed('input', dollars)
  const output = section.needed('output', dollars)
  const cacheRead = section.value('cache_read', dollars)
  const cacheWrite = section.value('cache_write', dollars)
  if (input === undefined || output === undefined) return null
  return {
    input,
    output,
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheWrite !== undefined && { cacheWrite }),
  }
}
