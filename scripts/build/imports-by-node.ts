import type { Plugin } from 'rolldown'
import { parseAst } from 'rolldown/parseAst'
import { importingFile } from '../../src/cli/start/run-bundle.ts'

/** What `import.cjs` does. */
export const importingCode = 'module.exports = specifier => import(specifier)\n'

/** Has the files of the command import packages through `import.cjs`. */
export function importsByNode(): Plugin {
  return {
    name: 'imports-by-node',
    renderChunk(code) {
      if (!/\bimport\s*\(/.test(code)) return null
      let changed = code
      for (const start of [...importsIn(parseAst(code))].sort((a, b) => b - a))
        changed = `${changed.slice(0, start)}require("./${importingFile}")${changed.slice(start + 'import'.length)}`
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
