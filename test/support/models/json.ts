/** Reads untrusted JSON: a missing value, or one of another type, becomes undefined or empty. */
export type Item = { readonly [field: string]: unknown }

export function item(value: unknown): Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Item) : {}
}

export function items(value: unknown): readonly Item[] {
  return Array.isArray(value) ? value.map(item) : []
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
