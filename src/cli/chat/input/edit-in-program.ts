import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from '../../command-line/usage-error.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Opens a text in VISUAL or EDITOR and returns it as the editor has left it, without line breaks at the end.
 *  Throws UsageError if there is no editor or if it fails. */
export async function editInProgram(text: string, env: Env): Promise<string> {
  const editor = [env.VISUAL, env.EDITOR].find(one => one?.trim())
  if (editor === undefined) throw new UsageError('Ctrl+G needs an editor', 'Set one: export EDITOR=vim')
  // Only the owner can read the folder and the file.
  const folder = await mkdtemp(join(tmpdir(), 'skein-edit-'))
  const file = join(folder, 'message.md')
  // Ctrl+C is for the editor.
  const ignore = () => undefined
  process.on('SIGINT', ignore)
  try {
    await writeFile(file, text, { mode: 0o600 })
    // The variable is a shell command line, such as `code --wait`.
    const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit', env })
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0)
      throw new UsageError(`the editor ended with ${code ?? 'a signal'}`, 'Your text is unchanged')
    return (await readFile(file, 'utf8')).replace(/\s+$/, '')
  } finally {
    process.removeListener('SIGINT', ignore)
    await rm(folder, { recursive: true, force: true })
  }
}
