/** A doc comment: its text, and the code of its `@example` blocks. */
export interface DocComment {
  readonly text: string
  readonly examples: readonly string[]
}

/** Reads the text between the slashes and stars of a doc comment. Examples come last and are fenced. */
export function readDocComment(value: string): DocComment {
  const lines = value
    .replace(/^\*/, '')
    .split('\n')
    .map(line => line.replace(/^\s*\* ?/, ''))
  const [text = '', ...examples] = lines.join('\n').split(/^\s*@example\b/m)
  // The lines of our comments are indented by one more space than the star needs.
  return { text: text.replaceAll(/^ /gm, '').trim(), examples: examples.map(codeOf) }
}

/** The code between the fences of an example, or an empty text. */
function codeOf(example: string): string {
  const [, indent = '', code = ''] = /^( *)```ts\n([\s\S]*?)\n *```/m.exec(example) ?? []
  return code.replaceAll(new RegExp(`^${indent}`, 'gm'), '').trim()
}
