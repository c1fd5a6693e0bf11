import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { toolServer } from './mcp-tools.ts'

/** An MCP server on standard input and output. Its arguments make it a faulty one: `newer` supports only the
 *  newest protocol; `noisy` prints a greeting first; `stubborn` ignores the end of its input and SIGTERM;
 *  `silent` never answers; `broken` exits at once; `child=<file>` runs the server in a child process and
 *  writes the child's pid to the file; `pid=<file>` writes its own pid. */
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
