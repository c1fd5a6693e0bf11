import { type CodeNode, type CodeRoot, common, createLowlight } from 'lowlight'

/** What a part of code is. */
export type CodeKind =
  | 'keyword'
  | 'string'
  | 'number'
  | 'comment'
  | 'function'
  | 'type'
  | 'attribute'
  | 'meta'
  | 'added'
  | 'removed'

/** A part of code, by its positions in the text. */
export interface CodeRange {
  readonly from: number
  readonly to: number
  readonly kind: CodeKind
}

/** Returns the coloured parts of code in order, without overlaps; none for an unknown language. */
export type Highlighter = (code: string, language: string) => readonly CodeRange[]

/** Longer code is not coloured: a grammar takes milliseconds for each 10 kB. */
const longest = 50_000

const lowlight = createLowlight(common)

/** Languages that the grammar of another one colours well enough. The package has no grammar for them. */
const grammars: Readonly<Record<string, string>> = { less: 'css', scss: 'css', arduino: 'cpp', ino: 'cpp' }

/** Colours code by the grammars of highlight.js. The file is large: load it when the first fence appears. */
export const highlightCode: Highlighter = (code, language) => {
  const name = grammars[language.toLowerCase()] ?? language.toLowerCase()
  if (code.length > longest || !lowlight.registered(name)) return []
  return rangesOf(lowlight.highlight(name, code))
}

function rangesOf(tree: CodeRoot): readonly CodeRange[] {
  const ranges: CodeRange[] = []
  let at = 0
  visit(tree.children, null)
  return ranges

  function visit(nodes: readonly CodeNode[], kind: CodeKind | null): void {
    for (const node of nodes) {
      if (node.type === 'element') visit(node.children, kindOf(node.properties.className) ?? kind)
      else if (node.type === 'text') add(node.value.length, kind)
    }
  }

  function add(length: number, kind: CodeKind | null): void {
    const last = ranges.at(-1)
    if (kind !== null && last?.to === at && last.kind === kind)
      ranges[ranges.length - 1] = { ...last, to: at + length }
    else if (kind !== null) ranges.push({ from: at, to: at + length, kind })
    at += length
  }
}

/** `['hljs-title', 'function_']` */
function kindOf(classes: unknown): CodeKind | null {
  if (!Array.isArray(classes)) return null
  const [scope = '', detail = ''] = classes.map(String)
  const name = scope.replace(/^hljs-/, '')
  return kinds[`${name}.${detail}`] ?? kinds[name] ?? null
}

/** The scopes of highlight.js. Others, such as punctuation, have no colour. */
const kinds: Readonly<Record<string, CodeKind>> = {
  keyword: 'keyword',
  'selector-tag': 'keyword',
  name: 'keyword',
  string: 'string',
  regexp: 'string',
  symbol: 'string',
  link: 'string',
  code: 'string',
  number: 'number',
  literal: 'number',
  comment: 'comment',
  quote: 'comment',
  title: 'function',
  'title.class_': 'type',
  section: 'function',
  type: 'type',
  class: 'type',
  built_in: 'type',
  attr: 'attribute',
  attribute: 'attribute',
  property: 'attribute',
  variable: 'attribute',
  'template-variable': 'attribute',
  'selector-class': 'attribute',
  'selector-id': 'attribute',
  'selector-attr': 'attribute',
  'selector-pseudo': 'attribute',
  bullet: 'attribute',
  meta: 'meta',
  addition: 'added',
  deletion: 'removed',
}
