import { openKeyboard } from '../../chat/input/keyboard.ts'
import type { CommandContext } from '../../command-line/command-context.ts'

/** Reads a line from the terminal without showing anything of it. Ctrl+C throws AbortError; the end of the
 *  input ends the line. */
export async function readSecret(question: string, context: CommandContext): Promise<string> {
  const { err } = context
  const keyboard = openKeyboard(context, err)
  let typed = ''
  err.write(question)
  try {
    for (;;) {
      const stroke = await keyboard.next()
      if (stroke.type === 'closed') return typed
      if (stroke.type === 'text' || stroke.type === 'paste') typed += stroke.text
      if (stroke.type !== 'key') continue
      if (stroke.name === 'enter' || stroke.name === 'end-of-input') return typed
      if (stroke.name === 'interrupt') throw new DOMException('interrupted', 'AbortError')
      if (stroke.name === 'backspace') typed = typed.slice(0, -1)
      if (stroke.name === 'escape' || stroke.name === 'kill-before') typed = ''
    }
  } finally {
    err.line()
    keyboard.close()
  }
}
