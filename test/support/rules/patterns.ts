import { type Rule, visit } from './source.ts'

/** No test passes a pattern to `toMatchObject`, where any text equals it: `expect.stringMatching` compares
 *  them. */
export const noBarePatterns: Rule = files =>
  files
    .filter(({ path }) => path.startsWith('test/'))
    .flatMap(file => {
      const matches: Extent[] = []
      const patterns: (Extent & { readonly text: string })[] = []
      visit(file, (node, holder) => {
        const extent = node as unknown as Extent
        const { callee, regex } = node as { readonly callee?: Callee; readonly regex?: { pattern: string } }
        if (callee?.property?.name === 'toMatchObject') matches.push({ start: callee.end, end: extent.end })
        if (regex && holder?.type !== 'CallExpression') patterns.push({ ...extent, text: regex.pattern })
      })
      return patterns
        .filter(({ start }) => matches.some(match => match.start < start && start < match.end))
        .map(({ text }) => `${file.path}: compares nothing with /${text}/`)
    })

/** Where a node is in its file. */
interface Extent {
  readonly start: number
  readonly end: number
}

interface Callee extends Extent {
  readonly property?: { readonly name?: string }
}
