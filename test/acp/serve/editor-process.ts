import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { commandLine, type Home } from '../../cli/skein.ts'
import { type Editor, editorOn } from './editor.ts'

/** An editor with `skein acp` as its child. */
export interface EditorProcess extends Editor {
  readonly pid: number
  /** Closes its side and waits for the agent's end. */
  leave(): Promise<{ readonly code: number | null; readonly stderr: string }>
  kill(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export async function startEditor(here: Home, args: readonly string[] = []): Promise<EditorProcess> {
  const [file, argv] = commandLine(['acp', ...args])
  const child = spawn(file, argv, { cwd: here.cwd, env: here.env, stdio: 'pipe' })
  const ended = once(child, 'close')
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdin.on('error', () => undefined) // it may have been killed
  const editor = await editorOn(child.stdin, child.stdout, here.cwd)
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  async function leave() {
    child.stdin.end()
    const [code] = await ended
    return { code, stderr }
  }
  return {
    ...editor,
    pid: child.pid!,
    leave,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async [Symbol.asyncDispose]() {
      if (!isOver()) await leave()
    },
  }
}
