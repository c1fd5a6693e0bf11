import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { commandLine, type Home } from '../../cli/skein.ts'
import { type Editor, editorOn } from './editor.ts'

/** An editor with `skein acp` as its child. */
export interface EditorProcess extends Editor {
  readonly pid: number
  /** Closes its side and waits until the agent has exited. */
  leave(): Promise<Ended>
  /** Waits until the agent has exited. */
  ended(): Promise<Ended>
  kill(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export interface Ended {
  readonly code: number | null
  readonly stderr: string
}

export async function startEditor(here: Home, args: readonly string[] = []): Promise<EditorProcess> {
  const [file, argv] = commandLine(['acp', ...args])
  const child = spawn(file, argv, { cwd: here.cwd, env: here.env, stdio: 'pipe' })
  const closed = once(child, 'close')
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdin.on('error', () => undefined) // it may have been killed
  const editor = await editorOn(child.stdin, child.stdout, here.cwd)
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  async function ended(): Promise<Ended> {
    const [code] = await closed
    return { code, stderr }
  }
  function leave(): Promise<Ended> {
    child.stdin.end()
    return ended()
  }
  return {
    ...editor,
    pid: child.pid!,
    leave,
    ended,
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
    async [Symbol.asyncDispose]() {
      if (!isOver()) await leave()
    },
  }
}
