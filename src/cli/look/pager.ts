import { spawn } from 'node:child_process'
import type { World } from '../world.ts'
import { printLines } from './look.ts'

/** Prints lines; on a terminal with fewer rows than there are lines, through a pager: PAGER, else `less -FIRX`. */
export async function printPaged(world: World, lines: readonly string[]): Promise<void> {
  const { out, env } = world
  const pager = env.PAGER ?? 'less -FIRX'
  if (!out.isTerminal || lines.length < out.rows || /^(cat)?$/.test(pager.trim()))
    return printLines(out, lines)
  const isRead = await readWith(pager, lines, world)
  if (!isRead) await printLines(out, lines)
}

/** False if there is no such pager. */
function readWith(pager: string, lines: readonly string[], { env }: World): Promise<boolean> {
  // Ctrl+C is for the pager: it stops a search there, and must not end us before it.
  const ignore = () => undefined
  process.on('SIGINT', ignore)
  return new Promise<boolean>((resolve, reject) => {
    const child = spawn(pager, {
      shell: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { ...env, LESS: env.LESS ?? 'FIRX' },
    })
    // Whoever quits before the end has seen enough.
    child.stdin.on('error', ignore)
    child.on('error', reject)
    child.on('close', code => resolve(code !== 127))
    child.stdin.end(`${lines.join('\n')}\n`)
  }).finally(() => process.removeListener('SIGINT', ignore))
}
