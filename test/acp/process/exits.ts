import { startAgent } from '../../../src/acp/process/start-agent.ts'

/** Starts an agent that ignores signals, with a child that does, too, and exits as soon as they have printed
 *  their ids. */
const stay = `trap '' TERM HUP; while true; do sleep 0.05; done`
const lines: string[] = []
startAgent(
  { command: 'sh', args: ['-c', `(${stay}) & echo $!; echo $$; ${stay}`] },
  {
    onLine({ bytes }) {
      lines.push(bytes.toString())
      if (lines.length < 2) return
      process.stdout.write(`${lines.join('\n')}\n`, () => process.exit(7))
    },
    onEnd() {},
  },
)
