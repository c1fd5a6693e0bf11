import type { Plugin } from 'rolldown'
import { parseAst } from 'rolldown/parseAst'

/** Creates patterns with Unicode classes (`\p{…}`) when they are used. V8 checks a literal when it reads the
 *  file, and looks up all characters of its classes: those of `core` took an eighth of the import. A literal
 *  outside of functions is created with the file as before. */
export function unicodePatternsLater(): Plugin {
  return {
    name: 'unicode-patterns-later',
    transform(code, id) {
      if (!id.endsWith('.ts') || !code.includes('\\p{')) return null
      const literals = [...literalsIn(parseAst(code, { lang: 'ts' }))].sort((a, b) => b.start - a.start)
      if (literals.length === 0) return null
      let changed = code
      for (const [i, { start, end, regex }] of literals.entries()) {
        const made = `new RegExp(${JSON.stringify(regex.pattern)}, '${regex.flags}')`
        // A pattern that remembers a position is a new object each time, as a literal is.
        const isShared = !/[gy]/.test(regex.flags)
        changed = `${changed.slice(0, start)}${isShared ? `(pattern$${i} ??= ${made})` : made}${changed.slice(end)}`
        if (isShared) changed += `;var pattern$${i}: RegExp | undefined`
      }
      // The lines of the source map stay right.
      return { code: changed, map: null }
    },
  }
}

interface PatternLiteral {
  readonly start: number
  readonly end: number
  readonly regex: { readonly pattern: string; readonly flags: string }
}

/** The literals with Unicode classes in a syntax tree. */
function* literalsIn(node: unknown): Generator<PatternLiteral> {
  if (typeof node !== 'object' || node === null) return
  const { regex } = node as Partial<PatternLiteral>
  if (regex?.pattern.includes('\\p{')) yield node as PatternLiteral
  else for (const part of Object.values(node)) yield* literalsIn(part)
}
