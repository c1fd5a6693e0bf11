import { isPlainObject, type Json, type JsonObject } from '../core/json.ts'
import type { ModelOptions } from '../core/model.ts'
import type { ModelSettings, PriceSettings } from './config.ts'
import type { Section } from './section.ts'
import {
  onlyDeclared,
  type SectionDeclaration,
  type Setting,
  structuredSetting,
  type ValueSetting,
  valueSetting,
} from './setting.ts'
import { integer, numberUpTo, positive } from './values.ts'

/** A model option with a single number, under its name in the file and after `-o`. */
export interface NumberOption extends ValueSetting<number> {
  readonly field: 'temperature' | 'topP' | 'maxOutput' | 'seed'
}

/** The model options with a single number. */
export const numberOptions: Readonly<Record<string, NumberOption>> = {
  temperature: {
    field: 'temperature',
    ...valueSetting(
      numberUpTo(Number.POSITIVE_INFINITY),
      'that of the provider',
      'How random the answer is.',
    ),
  },
  top_p: {
    field: 'topP',
    ...valueSetting(numberUpTo(1), 'that of the provider', 'Another way to limit randomness.'),
  },
  max_output: {
    field: 'maxOutput',
    ...valueSetting(
      positive,
      'that of the provider',
      'Most tokens of an answer. They are kept free in the window.',
    ),
  },
  seed: {
    field: 'seed',
    ...valueSetting(integer, 'none', 'Makes answers repeatable, if the provider supports it.'),
  },
}

const optionSettings: Readonly<Record<string, Setting>> = {
  ...numberOptions,
  stop: structuredSetting('a text or a list of texts', 'none', 'Texts that end an answer.'),
  provider_options: structuredSetting(
    'a mapping of providers to mappings',
    'none',
    "Options that only one provider knows, in the provider's own names.",
  ),
}

/** The section `options`. */
export const optionSection: SectionDeclaration = {
  path: 'options',
  about: 'Options of every model call, unless the model has its own. `-o` overrides them for one command.',
  settings: optionSettings,
  example: `options:
  temperature: 0.2
  top_p: 0.9
  max_output: 8000
  seed: 7
  stop: [END]
  provider_options:
    openai:
      reasoningEffort: high`,
}

const modelSettings = {
  model: structuredSetting(
    'text',
    'none',
    'Makes the name an alias of this model: `anthropic/claude-sonnet-5-5`.',
  ),
  window: valueSetting(positive, 'that of the model, if it is known', 'The window in tokens.'),
}

/** The sections of models. */
export const modelSection: SectionDeclaration = {
  path: 'models.<name>',
  about:
    'A model or an alias. A text in place of a mapping is an alias: `fast: google/gemini-3.5-flash`. Besides ' +
    'these settings, a model has those of `options`, for itself.',
  settings: {
    ...modelSettings,
    ...optionSettings,
    price: structuredSetting(
      'a mapping',
      'that of the model, if it is known',
      'In dollars per million tokens: see below.',
    ),
  },
  example: `models:
  fast: google/gemini-3.5-flash
  deep:
    model: anthropic/claude-opus-5-5
    window: 200_000
    temperature: 1
    top_p: 1
    max_output: 32000
    seed: 1
    stop: END
    provider_options:
      anthropic:
        thinking: {type: enabled, budgetTokens: 12000}
    price: {input: 5, output: 25}`,
}

const dollars = numberUpTo(Number.POSITIVE_INFINITY)

const priceSettings = {
  input: valueSetting(dollars, null, 'Input tokens.'),
  output: valueSetting(dollars, null, 'Output tokens.'),
  cache_read: valueSetting(
    dollars,
    'none',
    "Input tokens from the provider's cache. Without it, a call that reads some has no known cost.",
  ),
  cache_write: valueSetting(
    dollars,
    'none',
    "Input tokens that are written to the provider's cache. Without it, a call that writes some has no known cost.",
  ),
}

/** The prices of a model. */
export const priceSection: SectionDeclaration = {
  path: 'models.<name>.price',
  about: 'In dollars per million tokens. Receipts and `skein stats` use it.',
  settings: priceSettings,
  example: `models:
  compatible/my-model:
    price:
      input: 0.5
      output: 1.5
      cache_read: 0.05
      cache_write: 0.6`,
}

/** Reads the section `options`. */
export function readOptions(section: Section): ModelOptions {
  onlyDeclared(section, optionSection)
  return optionsIn(section)
}

/** Reads `models.<name>`, and the model of an alias, if it is given. */
export function readModelSettings(section: Section): ModelSettings & { readonly model: string | null } {
  onlyDeclared(section, modelSection)
  const model = section.json('model')
  if (model !== undefined && typeof model !== 'string') section.refuse('model', 'is not a text')
  return {
    model: typeof model === 'string' ? model.trim() : null,
    window: section.value('window', modelSettings.window.reader) ?? null,
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
  onlyDeclared(section, priceSection)
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
