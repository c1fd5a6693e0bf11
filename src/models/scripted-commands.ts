/** The words after a `/` that the built-in model obeys, at the beginning of a line: see `directed` in
 *  `scripted-answers.ts`. */
export const scriptedCommands: readonly string[] = [
  'tool',
  'say',
  'think',
  'slow',
  'long',
  'fail',
  'overflow',
]
