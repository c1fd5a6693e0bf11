import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { toolServer } from './mcp-tools.ts'

/** An MCP server on standard input and output. Its arguments make it a bad one:
 *  `newer` knows only the newest protocol; `noisy` prints a greeting first; `stubborn` ends neither with its input nor
 *  when asked to; `silent` never says anything; `broken` ends at once; `child=<file>` leaves the work to a child of
 *  its own and writes the child's pid there; `pid=<file>` writes its own. */
const args = process.argv.slice(2)
const given = (name: string) => args.find(arg => arg.startsWith(`${name}=`))?.slice(name.length + 1)

const pidFile = given('pid')
if (pidFile !== undefined) writeFileSync(pidFile, String(process.pid))
const childFile = given('child')

if (args.includes('broken')) {
  process.stderr.write('there is no such database\n')
  process.exit(2)
}
if (args.includes('stubborn')) {
  process.on('SIGTERM', () => {})
  setInterval(() => {}, 60_000)
}
if (childFile !== undefined) {
  const rest = args.filter(arg => !arg.startsWith('child='))
  const child = spawn(process.execPath, [import.meta.filename, ...rest], { stdio: 'inherit' })
  writeFileSync(childFile, String(child.pid))
} else if (args.includes('silent')) {
  process.stdin.resume()
} else {
  if (args.includes('noisy')) process.stdout.write('Welcome!\n\n{ "not": "a message" }\n')
  serveStdio(toolServer, { legacy: args.includes('newer') ? 'reject' : 'serve' })
}
