import { spawn } from 'node:child_process'
import type { Output } from './output.ts'

/** Most bytes that terminals take: xterm drops longer sequences. */
export const maxClipboardBytes = 74_000

/** Puts a text on the clipboard of the terminal (OSC 52), which also works over SSH. tmux ignores the sequence
 *  by default, so it is asked by its own command. */
export async function copyText(
  text: string,
  output: Output,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  if (env.TMUX && (await givenToTmux(text))) return
  output.write(`\x1b]52;c;${Buffer.from(text).toString('base64')}\x07`)
}

/** True if tmux has taken the text: its buffer, and the clipboard of the terminal around it. */
function givenToTmux(text: string): Promise<boolean> {
  return new Promise(resolve => {
    const child = spawn('tmux', ['load-buffer', '-w', '-'], { stdio: ['pipe', 'ignore', 'ignore'] })
    child.on('error', () => resolve(false))
    child.on('close', code => resolve(code === 0))
    child.stdin.on('error', () => undefined)
    child.stdin.end(text)
  })
}
