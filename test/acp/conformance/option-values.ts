type Fields = Readonly<Record<string, unknown>>

/** The values of a select option, flat or in groups. */
export function valuesOf({ type, options }: Fields): readonly unknown[] {
  if (type !== 'select' || !Array.isArray(options)) return []
  return (options as readonly Fields[]).flatMap(one =>
    Array.isArray(one.options) ? (one.options as readonly Fields[]).map(({ value }) => value) : [one.value],
  )
}

/** Whether the current value of an option is one of its values. */
export function hasValidValue(option: Fields): boolean {
  if (option.type === 'boolean') return typeof option.currentValue === 'boolean'
  return option.type !== 'select' || valuesOf(option).includes(option.currentValue)
}
