/** An exact replacement. */
export interface TextEdit {
  readonly oldText: string
  readonly newText: string
  /** `one` refuses a text that occurs more than once. */
  readonly replace: 'one' | 'all'
}

/** Replaces a text exactly. Keeps the line endings of the file: a model writes `\n` also where the file has
 *  `\r\n`. Throws an error for the model if the text is missing or ambiguous. */
export function editText(text: string, { oldText, newText, replace }: TextEdit): string {
  if (oldText === newText) throw new Error('old_text and new_text are the same: nothing would change')
  const [wanted, given] = [oldText, newText].map(part => withEndingsOf(text, part)) as [string, string]
  const count = text.split(wanted).length - 1
  if (count === 0)
    throw new Error('old_text is not in the file. Read it again, and give the text exactly as it is there')
  if (count > 1 && replace === 'one')
    throw new Error(
      `old_text is ${count} times in the file. Give more of the lines around it, or replace: "all"`,
    )
  return text.split(wanted).join(given)
}

/** A text with the line endings of a file. Changes nothing if the file has both kinds. */
export function withEndingsOf(file: string, text: string): string {
  const all = file.split('\n').length - 1
  const windows = file.split('\r\n').length - 1
  return all > 0 && all === windows ? text.replace(/\r?\n/g, '\r\n') : text
}
