import type { Plugin } from 'rolldown'
import { parseAst } from 'rolldown/parseAst'

/** A file that Node loads itself, for the other files of the command. */
export const importingFile = {
  name: 'import.cjs',
  code: 'module.exports = specifier => import(specifier)\n',
}

/** Has packages imported by that file: from a script that the start runs itself, an import is experimental,
 *  and Node would say so on stderr. */
export function importsByNode(): Plugin {
  return {
    name: 'imports-by-node',
    renderChunk(code) {
      if (!/\bimport\s*\(/.test(code)) return null
      let changed = code
      for (const start of [...importsIn(parseAst(code))].sort((a, b) => b - a))
        changed = `${changed.slice(0, start)}require("./${importingFile.name}")${changed.slice(start + 'import'.length)}`
      // The lines of the source map stay right.
      return { code: changed, map: null }
    },
  }
}

/** Where a syntax tree has calls of `import`. */
function* importsIn(node: unknown): Generator<number> {
  if (typeof node !== 'object' || node === null) return
  const { type, start } = node as { readonly type?: unknown; readonly start?: number }
  if (type === 'ImportExpression') yield start!
  for (const part of Object.values(node)) yield* importsIn(part)
}
