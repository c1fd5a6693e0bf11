import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { strangeEnvironment } from '../../test/support/place.ts'
import { root, run } from './command.ts'
import { passed, type Step } from './step.ts'

/** The output that an example must contain, so that running to its end is not enough. */
const shows: Readonly<Record<string, readonly RegExp[]>> = {
  '01-minimal.ts': [/^assistant: Noted\.$/m],
  '04-agent.ts': [/^agent: The first thing you said was: "It is \d{4}-/m],
  '05-crash.ts': [
    /ended by SIGKILL/,
    /Unknown outcome: transfer\./,
    /Run again: balance\./,
    /Transfers made: 10 to Anna\.\n/,
  ],
  '06-window.ts': [/messages have a summary now/, /^60 messages are stored, and \d+ summaries\.$/m],
  '07-subagent.ts': [
    /^subagent:reader:[\da-f-]{36}, asked by message [a-z2-7]{32}$/m,
    /assistant: It is about a whale/,
  ],
  '08-ai-sdk.ts': [/tool_result 18 °C and sunny in Lisbon\nassistant {3}No, leave it at home\./],
  '09-any-agent.ts': [/^memory: (injected|resumed|loaded|completed)$/m, /^agent: .*Ada/m],
  '10-client.ts': [/Ada\.\nturn: complete\nfork: true\nlisted: From a client\nerror: 404 not_found\n/],
  '13-chat-room.ts': [
    /^Ada sees Ada: Hello from Ada$/m,
    /^Bob sees the agent: Welcome, both of you\.$/m,
    /^Bob sees Bob: I am back$/m,
    /^found: true$/m,
  ],
  '11-service.ts': [/^own: My application\nevents: ended\nwithout a token: 401$/m],
}

/** Every example runs to its end, each in an empty folder with an empty home, and a second time on the files
 *  of the first run. */
export const examples: Step = {
  name: 'examples',
  async run(place) {
    const files = readdirSync(join(root, 'examples')).filter(name => /\.(ts|mjs)$/.test(name))
    const missing = Object.keys(shows).filter(name => !files.includes(name))
    if (missing.length > 0) throw new Error(`there is no example ${missing.join(', ')}`)
    for (const file of files.sort()) await runTwice(file, join(place, file))
    return passed(files.length)
  },
}

async function runTwice(file: string, place: string): Promise<void> {
  const cwd = join(place, 'cwd')
  mkdirSync(cwd, { recursive: true })
  const env = strangeEnvironment(place, process.env)
  for (const time of ['first', 'second']) {
    const said = await run(process.execPath, [join(root, 'examples', file)], { cwd, env })
    const lacking = shows[file]?.find(pattern => !pattern.test(said))
    if (lacking) throw new Error(`examples/${file}, the ${time} time, does not show ${lacking}:\n${said}`)
  }
}
