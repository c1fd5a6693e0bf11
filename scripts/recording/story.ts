import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/stores/open.ts'
import { type Change, changesFor } from './normal.ts'
import { type Span, textOfScreen } from './screen.ts'
import { openShell, type Shell } from './shell.ts'
import { pauseSeconds } from './svg.ts'

/** A picture of the terminal, and for how long it is shown. */
export interface Frame {
  readonly screen: readonly (readonly Span[])[]
  readonly seconds: number
  /** How many characters at the end of the last row appear one after the other. Default: none. */
  readonly typed?: number
}

/** One terminal, from its opening to its closing. */
export interface Scene {
  readonly caption: string
  readonly frames: readonly Frame[]
}

const bin = join(import.meta.dirname, '../../src/cli/bin.ts')

/** Plays the story in real terminals, with the current command, and returns the recorded scenes. Ids and
 *  times, which differ in every run, are replaced by fixed ones; everything else is printed by the command.
 */
export async function playStory(): Promise<readonly Scene[]> {
  const place = mkdtempSync(join(tmpdir(), 'skein-recording-'))
  try {
    const { cwd, env } = machine(place)
    const scenes: Scene[] = []
    for (const { caption, play } of story) {
      const shell = await openShell(cwd, env)
      const frames: Frame[] = []
      const look = (seconds: number) => void frames.push({ screen: shell.screen(), seconds })
      const type = async (text: string, until: RegExp, seconds: number) => {
        await shell.type(text, end(text))
        frames.push({
          screen: shell.screen(),
          seconds: pauseSeconds + text.length * secondsPerKey,
          typed: text.length,
        })
        await shell.type('\r', until)
        look(seconds)
      }
      try {
        await play({ shell, look, type })
      } finally {
        await shell.close()
      }
      scenes.push({ caption, frames })
    }
    return normal(scenes, await changesIn(join(place, 'home/.local/share/skein/conversations.db')))
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

/** The speed of the hand. */
const secondsPerKey = 0.05

/** The row ends with the typed text. */
function end(text: string): RegExp {
  return new RegExp(`${text.replaceAll(/[^\w ]/g, '\\$&')}$`)
}

/** A file of the project in which the story plays. */
const reconnect = `import { sleep } from './sleep.ts'

export async function reconnect(attempt: number) {
  await sleep(500)
  return open(attempt + 1)
}
`

/** An isolated home without keys and settings. Only `skein` and a few system programs are on the path: the
 *  command names agents that it finds there. */
function machine(place: string): { readonly cwd: string; readonly env: NodeJS.ProcessEnv } {
  const home = join(place, 'home')
  const cwd = join(home, 'harbor')
  const programs = join(place, 'bin')
  for (const folder of [join(cwd, 'src'), programs]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(cwd, 'src/reconnect.ts'), reconnect)
  writeFileSync(join(programs, 'skein'), `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`)
  chmodSync(join(programs, 'skein'), 0o755)
  for (const name of ['bash', 'sh', 'less']) {
    const found = ['/bin', '/usr/bin', '/usr/local/bin'].map(folder => join(folder, name)).find(existsSync)
    if (found !== undefined) symlinkSync(found, join(programs, name))
  }
  return { cwd, env: { HOME: home, PATH: programs, LANG: 'C.UTF-8', TZ: 'UTC' } }
}

interface Stage {
  readonly shell: Shell
  look(seconds: number): void
  /** Types a line, one key after the other, and shows what comes of it. */
  type(text: string, until: RegExp, seconds: number): Promise<void>
}

interface Part {
  readonly caption: string
  play(stage: Stage): Promise<void>
}

/** The command has ended: the shell shows its prompt. */
const shellAgain = /\n\$$/
/** The chat shows its prompt. */
const chatAgain = /\n›$/

const story: readonly Part[] = [
  {
    caption: 'Chat. No key, no server, no configuration: a built-in demo model answers.',
    async play({ type }) {
      await type('skein', chatAgain, 3)
      await type('Why do our websockets drop at 02:00?', /start with full jitter[\s\S]*\n›$/, 4)
      await type('Use full jitter, with a limit of 30 s.', /at most 30 s\.[\s\S]*\n›$/, 3.5)
    },
  },
  {
    caption: 'That terminal was closed. Another one continues the conversation of this directory.',
    async play({ type }) {
      await type('skein "What did we decide?"', shellAgain, 3)
      await type('skein -n "My name is Ada."', shellAgain, 2)
    },
  },
  {
    caption: 'Resume: pick any conversation, by its title and its text. Tools can read the project.',
    async play({ shell, type, look }) {
      await type('skein resume --tools', /enter open/, 2)
      await shell.type('socket', /which conversation\? {2}socket/)
      look(1.5)
      await shell.type('\r', chatAgain)
      await type('Which files mention reconnect?', /I found it here[\s\S]*\n›$/, 3.5)
      await type('/quit', shellAgain, 2)
    },
  },
  {
    caption: 'Fork: branch off at any message. Nothing is copied, nothing is lost.',
    async play({ shell, type }) {
      await type('skein show --path', shellAgain, 2.5)
      const first = /^(\S{6,}) .* scripted +The certificate/m.exec(shell.text())?.[1]
      if (first === undefined) throw new Error(`the first answer is not on:\n${shell.text()}`)
      await type(`skein fork ${first} --name polling`, shellAgain, 1.5)
      await shell.type('skein -q -c polling "Use polling instead."\r', shellAgain)
      await type('skein "What did we decide?"', shellAgain, 3)
    },
  },
  {
    caption: 'Tree: every message, with its branches.',
    async play({ type }) {
      await type('skein tree', shellAgain, 4)
    },
  },
  {
    caption: 'Search: everything that you, models and tools said.',
    async play({ type }) {
      await type('skein search jitter', shellAgain, 4)
    },
  },
]

/** The replacements that make the same story give the same pictures. */
async function changesIn(file: string): Promise<readonly Change[]> {
  await using store = await openStore(file)
  const ids: string[] = []
  const { items } = await store.listConversations({ limit: 100 })
  for (const { id } of items.toReversed()) {
    ids.push(id)
    const messages = await store.listMessages({ conversationId: id, order: 'ascending', limit: 100 })
    ids.push(...messages.items.map(message => message.id))
  }
  return changesFor(ids)
}

function normal(scenes: readonly Scene[], changes: readonly Change[]): readonly Scene[] {
  const change = (text: string) => changes.reduce((now, { from, to }) => now.replace(from, to), text)
  return scenes.map(({ caption, frames }) => ({
    caption,
    frames: frames.map(({ screen, ...frame }) => ({
      ...frame,
      screen: screen.map(spans => spans.map(span => ({ ...span, text: change(span.text) }))),
    })),
  }))
}

/** The story as text: the last picture of each scene, and earlier ones that contain other text. */
export function textOf(scenes: readonly Scene[]): string {
  const parts = scenes.map(({ caption, frames }) => {
    const texts = frames.map(({ screen }) => textOfScreen(screen))
    // Text that is still on the next picture appears there.
    const shown = texts.filter((text, i) => !texts[i + 1]?.startsWith(text))
    return `## ${caption}\n\n${shown.map(text => `\`\`\`\`console\n${text}\n\`\`\`\`\n`).join('\n')}`
  })
  return `# Skein in a minute

Made by \`npm run recording\` from real runs in real terminals; do not edit. Ids and times are replaced by fixed ones;
everything else is the output of the command. The README shows it as an animated picture.

${parts.join('\n')}`
}
