import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/stores/open.ts'
import { type Change, changesFor } from './normal.ts'
import { type Span, textOfScreen } from './screen.ts'
import { openShell, type Shell } from './shell.ts'

/** A picture of the terminal, and for how long it is shown. */
export interface Frame {
  readonly screen: readonly (readonly Span[])[]
  readonly seconds: number
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
      try {
        await play(shell, look)
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

/** An isolated home without keys and settings, and `skein` on the path. */
function machine(place: string): { readonly cwd: string; readonly env: NodeJS.ProcessEnv } {
  const home = join(place, 'home')
  const cwd = join(home, 'harbor')
  const programs = join(place, 'bin')
  for (const folder of [cwd, programs]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(programs, 'skein'), `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`)
  chmodSync(join(programs, 'skein'), 0o755)
  const { PATH = '/usr/bin:/bin' } = process.env
  return { cwd, env: { HOME: home, PATH: `${programs}:${PATH}`, LANG: 'C.UTF-8', TZ: 'UTC' } }
}

interface Part {
  readonly caption: string
  play(shell: Shell, look: (seconds: number) => void): Promise<void>
}

/** The command has ended: the shell shows its prompt. */
const shellAgain = /\n\$$/
/** The chat shows its prompt. */
const chatAgain = /\n›$/

const story: readonly Part[] = [
  {
    caption: 'Chat. No key, no server, no configuration: a built-in demo model answers.',
    async play(shell, look) {
      await shell.type('skein\r', chatAgain)
      look(2)
      await shell.type('My name is Ada, and the door code is 4711.', /4711\.$/)
      look(1.5)
      await shell.type('\r', /Nice to meet you[\s\S]*\n›$/)
      look(2.5)
    },
  },
  {
    caption: 'That terminal was closed. Another one continues the conversation of this directory.',
    async play(shell, look) {
      await shell.type('skein "What is my name?"', /\?"$/)
      look(1)
      await shell.type('\r', shellAgain)
      look(3)
      await shell.type('skein -n "Why is the build red?"\r', shellAgain)
      look(2)
    },
  },
  {
    caption: 'Resume: pick any conversation, by its title and its text.',
    async play(shell, look) {
      await shell.type('skein resume\r', /enter open/)
      look(2)
      await shell.type('ada', /which conversation\? {2}ada/)
      look(1.5)
      await shell.type('\r', chatAgain)
      await shell.type('What is the door code?\r', /The door code is 4711\.[\s\S]*\n›$/)
      look(3)
      await shell.type('/quit\r', shellAgain)
    },
  },
  {
    caption: 'Fork: branch off at any message. Nothing is copied, nothing is lost.',
    async play(shell, look) {
      await shell.type('skein show --path\r', shellAgain)
      look(2)
      const first = /^(\S{6,}) .* scripted +Nice to meet you/m.exec(shell.text())?.[1]
      if (first === undefined) throw new Error(`the first answer is not on:\n${shell.text()}`)
      await shell.type(`skein fork ${first} --name night\r`, shellAgain)
      look(1.5)
      await shell.type('skein -q -c night "The door code is 1234."\r', shellAgain)
      await shell.type('skein "What is the door code?"\r', shellAgain)
      look(3)
    },
  },
  {
    caption: 'Tree: every message, with its branches.',
    async play(shell, look) {
      await shell.type('skein tree\r', shellAgain)
      look(4)
    },
  },
  {
    caption: 'Search: everything that you, models and tools said.',
    async play(shell, look) {
      await shell.type('skein search "door code"\r', shellAgain)
      look(4)
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
    frames: frames.map(({ screen, seconds }) => ({
      seconds,
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
    return `## ${caption}\n\n${shown.map(text => `\`\`\`console\n${text}\n\`\`\`\n`).join('\n')}`
  })
  return `# Skein in a minute

Made by \`npm run recording\` from real runs in real terminals; do not edit. Ids and times are replaced by fixed ones;
everything else is the output of the command. As an animated picture: [recording.svg](recording.svg).

${parts.join('\n')}`
}
