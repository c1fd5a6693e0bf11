import { join } from 'node:path'
import type { Plugin } from 'rolldown'

/** Evaluates the module `marked` with the first call of `marked()` in `src/render/marked.ts`, instead of with
 *  the bundle. */
export function markedLater(root: string): Plugin {
  const ours = join(root, 'src/render/marked.ts')
  return {
    name: 'marked-later',
    load: id => (id === ours ? `export { load as marked } from 'marked'` : null),
    transform(code, id) {
      if (!/[\\/]marked[\\/]lib[\\/]marked\.esm\.js$/.test(id)) return null
      const [statement, names] = /export\{([^{}]+)\};?/.exec(code) ?? []
      if (statement === undefined || names === undefined)
        throw new Error('marked has another list of exports: see scripts/build/marked-later.ts')
      const fields = names.split(',').flatMap(one => {
        const [local, name] = one.trim().split(' as ')
        return name === 'Lexer' || name === 'Tokenizer' ? [`${name}: ${local}`] : []
      })
      const body = code.replace(statement, () => `return { ${fields.join(', ')} }`)
      return {
        code: `let made\nfunction make() {\n${body}\n}\nexport function load() { return (made ??= make()) }`,
        map: null,
      }
    },
  }
}
