import type { StatementCall } from '../engine/engine.ts'
import type { ListParams } from '../engine/list-params.ts'
import type { StatementName } from '../engine/statements.ts'
import { type CompiledQuery, compileQuery } from './dialect.ts'
import { queries } from './queries/index.ts'

/** What tells the texts of a call from those of others: its name, and the filters of a list. */
export function textKey({ name, params }: StatementCall): string {
  if (typeof queries[name as StatementName] !== 'function') return name
  const { filters } = params as ListParams
  return filters.length > 0 ? `${name} ${filters.join(' ')}` : name
}

/** The SQL of a statement call. Some are several statements, of which the last one has the result. */
export function compileTexts({ name, params }: StatementCall): readonly CompiledQuery[] {
  const text = queries[name as StatementName]
  const texts =
    typeof text === 'function'
      ? [text((params as ListParams).filters)]
      : typeof text === 'string'
        ? [text]
        : text
  return texts.map(one => compileQuery(one, () => '?'))
}

/** The values of parameters, in the order of their names. Lists are passed as JSON, for `json_each`. */
export function valuesOf(names: readonly string[], params: object): unknown[] {
  return names.map(name => {
    const value = (params as Record<string, unknown>)[name]
    return Array.isArray(value) ? JSON.stringify(value) : value
  })
}
