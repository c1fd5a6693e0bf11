import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { agentPresets } from '../../config/agent-presets.ts'
import { findProgram } from '../../system/find-program.ts'
import { userFolder } from '../../system/home-folder.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import type { Output } from '../output/output.ts'
import { noteLine } from '../output/print.ts'
import { demoNote } from './choose-model.ts'

/** What to print before the demo model answers: at the first run on a terminal, what this is; later one note,
 *  once a day. Both are remembered in a file in the user's state folder, unless nothing may be kept. */
export function demoLines(
  { env, err, now }: Pick<CommandContext, 'env' | 'err' | 'now'>,
  { isIncognito }: { readonly isIncognito: boolean },
): readonly string[] {
  const file = stateFile(env)
  const before = readState(file)
  const day = dayOf(now())
  const isFirst = err.isTerminal && !before.welcomed
  if (before.day === day && !isFirst) return []
  if (!isIncognito) rememberState(file, { day, welcomed: before.welcomed || isFirst })
  return isFirst ? welcome(err, env) : [noteLine(demoNote, err)]
}

/** What was printed before. */
interface NoteState {
  /** The day of the last note: `2026-11-17`. */
  readonly day: string | null
  readonly welcomed: boolean
}

function welcome(err: Output, env: CommandContext['env']): readonly string[] {
  const { dots } = err.style.symbols
  const found = installedAgents(env)
  const commands = found.map(({ name }) => `skein agent ${name}`).join(', ')
  const listed = found.map(({ title }) => title).join(', ')
  return [
    'Skein keeps what you and your AI agents say: to continue, branch and search.',
    noteLine(
      `no key set: a demo model answers. For a real one: export ANTHROPIC_API_KEY=${dots} or: skein config keys set anthropic`,
      err,
    ),
    'All else works without a key. Say "tour" to see it; /help lists the commands.',
    ...(found.length === 0 ? [] : [`Also here: ${listed}. With a memory: ${commands}`]),
  ]
}

function stateFile(env: CommandContext['env']): string | null {
  try {
    return join(userFolder(env, 'XDG_STATE_HOME', '.local/state'), 'skein', 'demo-note.json')
  } catch {
    return null // Without a home folder.
  }
}

/** `2026-11-17`, in local time. */
function dayOf(time: number): string {
  const date = new Date(time)
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map(part => String(part).padStart(2, '0'))
    .join('-')
}

function readState(file: string | null): NoteState {
  try {
    const { day, welcomed } = JSON.parse(readFileSync(file ?? '', 'utf8')) as Partial<NoteState>
    return { day: typeof day === 'string' ? day : null, welcomed: welcomed === true }
  } catch {
    return { day: null, welcomed: false }
  }
}

/** Without the file, the note is printed again next time. */
function rememberState(file: string | null, state: NoteState): void {
  if (file === null) return
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, `${JSON.stringify(state)}\n`, { mode: 0o600 })
  } catch {
    // The home may be read-only.
  }
}

interface InstalledAgent {
  /** The name after `skein agent`. */
  readonly name: string
  readonly title: string
}

/** The agents whose program is on the PATH, each program once. */
function installedAgents(env: CommandContext['env']): readonly InstalledAgent[] {
  const seen = new Set<string>()
  return Object.entries(agentPresets).flatMap(([name, { title, command, product }]) => {
    const program = product ?? command
    if (seen.has(program) || findProgram(program, env) === null) return []
    seen.add(program)
    return [{ name, title }]
  })
}
