import { optionalText, ownInput, readInput, textField, wholeField } from '../tools/own-tool.ts'
import type { AgentTool } from '../tools/tool.ts'
import type { CheckedPaths } from './checked-paths.ts'
import type { ShellResult, Workspace } from './workspace.ts'

const input = {
  command: /* @__PURE__ */ textField({ min: 1, about: 'a command line for the shell' }),
  path: /* @__PURE__ */ optionalText({ min: 1, about: 'the directory to run it in; default: the project' }),
  timeout: /* @__PURE__ */ wholeField(120, { min: 1, max: 3_600, about: 'seconds' }),
}

/** A tool that runs a command. An answer for longer than one call covers exactly this command line. */
export function shellTool({ directories, run }: Workspace, paths: CheckedPaths): AgentTool {
  const [working] = directories
  return {
    description:
      'Runs a command in a shell, in the project, without input. Processes that it leaves in the background are ended with it.',
    ...ownInput(input),
    repeatable: false,
    readOnly: false,
    kind: 'execute',
    async needsApproval(given, { callId }) {
      const { command, path = working } = readInput(input, given)
      const { path: directory, shown, reason } = await paths.look(callId, path)
      const where = shown === '.' ? '' : ` (in ${shown})`
      return {
        title: `run ${command}${where}`,
        preview: { type: 'command', command, directory },
        reason,
        scope: `run ${command}${where}`,
      }
    },
    async run(given, { callId, signal }) {
      const { command, path = working, timeout } = readInput(input, given)
      const { path: directory } = await paths.use(callId, path)
      const result = await run({ command, directory, timeoutMs: timeout * 1_000, callId }, signal)
      const isError = result.timedOut || result.exitCode !== 0
      const { exitCode } = result
      return {
        output: isError ? `${failure(result, timeout)}\n${result.output}` : result.output,
        isError,
        trace: { exitCode },
      }
    },
  }
}

/** How a command failed, in the first line of its result. */
function failure({ timedOut, exitCode, signal }: ShellResult, seconds: number): string {
  if (timedOut) return `ended after ${seconds} s, the time limit`
  return exitCode === null ? `ended by ${signal ?? 'a signal'}` : `exit ${exitCode}`
}
