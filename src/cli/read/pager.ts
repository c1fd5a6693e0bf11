import { spawn } from 'node:child_process'
import type { World } from '../command-line/command-context.ts'
import { printLines } from '../output/print.ts'

/** Prints lines; on a terminal with fewer rows than there are lines, through a pager: PAGER, else `less -FIRX`. */
export async function printPaged(world: World, lines: readonly string[]): Promise<void> {
  const { out, env } = world
  const isPlain = !out.isTerminal || env.TERM === 'dumb' || /^\s*(cat)?\s*$/.test(env.PAGER ?? 'less')
  if (isPlain || lines.length < out.rows || !(await readWith(env, lines))) await printLines(out, lines)
}

/** False if there is no such pager. */
function readWith(env: World['env'], lines: readonly string[]): Promise<boolean> {
  // Ctrl+C is for the pager: it stops a search there, and must not end us before it.
  const ignore = () => undefined
  process.on('SIGINT', ignore)
  return new Promise<boolean>(resolve => {
    const options = {
      stdio: ['pipe', 'inherit', 'inherit'] as ['pipe', 'inherit', 'inherit'],
      env: { ...env, LESS: env.LESS ?? 'FIRX' },
    }
    // What people put into PAGER is a command line.
    const child = env.PAGER
      ? spawn(env.PAGER, { ...options, shell: true })
      : spawn('less', ['-FIRX'], options)
    // Whoever quits before the end has seen enough.
    child.stdin.on('error', ignore)
    child.on('error', () => resolve(false))
    child.on('close', code => resolve(code !== 127))
    child.stdin.end(`${lines.join('\n')}\n`)
  }).finally(() => process.removeListener('SIGINT', ignore))
}
