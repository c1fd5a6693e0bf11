import { existsSync } from 'node:fs'
import type { AgentCommand, AgentProcess, AgentProcessOptions, ProcessEnd } from './agent-process.ts'

/** What a shell says of a command that it cannot start. */
export const cannotStart = 127

/** Takes the place of a process that could not even be tried. */
export function neverRan(reason: Promise<string>, { onEnd }: AgentProcessOptions): AgentProcess {
  const ended = reason.then((said): ProcessEnd => {
    onEnd()
    return { code: cannotStart, signal: null, said }
  })
  const nothing = () => {}
  return {
    pid: null,
    ended,
    end: () => ended,
    send: nothing,
    unsent: 0,
    pause: nothing,
    resume: nothing,
    close: nothing,
  }
}

/** Why a command could not be started, in words that say what to do. Node says of a directory that is not there that the
 *  command is not. */
export function complaintOf(error: unknown, { command, cwd }: AgentCommand): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (cwd !== undefined && !existsSync(cwd)) return `the directory ${cwd} does not exist`
  if (code === 'ENOENT') return `${command}: command not found`
  if (code === 'EACCES') return `${command}: permission denied`
  return `${command} could not be started: ${message}`
}
