import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { run } from '../../../scripts/check/command.ts'

/** A program of `project/`, and where it runs. */
export interface Setup {
  readonly project: string
  readonly program: 'turns' | 'agent' | 'ai-sdk'
  readonly target: string
  /** The file in which the tools of the program note that they ran. */
  readonly ledger: string
  /** What the program does wrong, for a control. Default: nothing. */
  readonly fault?: string
}

/** The faults after all kills: none, if everything holds. */
export interface Faults {
  /** Acknowledged answers that are missing. */
  lost: number
  /** Questions or answers that are stored twice. */
  doubled: number
  /** Questions in the middle of a conversation without their answer. */
  partial: number
  /** Bills that were paid twice. */
  paidTwice: number
  /** What `verify` found. */
  findings: readonly string[]
}

/** The outcome of `killRepeatedly`. */
export interface Killed {
  readonly kills: number
  readonly acknowledged: number
  readonly faults: Faults
}

interface Looked {
  readonly findings: readonly string[]
  readonly conversations: readonly {
    readonly key: string
    readonly stored: number
    readonly path: readonly { readonly role: string; readonly text: string }[]
  }[]
}

const width = 3

/** The longest time from the start of the work to a kill. The first call of the AI SDK takes most of its. */
const longestMs = { turns: 120, agent: 300, 'ai-sdk': 700 }

/** Starts three processes on one store, each with a conversation of its own, kills all three with SIGKILL at
 *  a random moment, and starts them again with the first request that was not acknowledged, until there were
 *  this many kills. Then looks at everything that is stored. */
export async function killRepeatedly(setup: Setup, times: number, random: () => number): Promise<Killed> {
  const keys = Array.from({ length: width }, (_, i) => `talk ${i}`)
  const acked = new Map(keys.map(key => [key, -1]))
  let kills = 0
  while (kills < times) {
    // Half of the kills are counted from the first moment on, so that some precede the first answer. The
    // others are counted from it: on a slow machine, all of them would precede it.
    const from = (kills / width) % 2 === 0 ? 'start' : 'answer'
    const ms = random() * longestMs[setup.program]
    await Promise.all(keys.map(key => runAndKill(setup, key, acked, { from, ms })))
    kills += width
  }
  const faults = await inspect(setup, acked)
  const acknowledged = [...acked.values()].reduce((sum, last) => sum + last + 1, 0)
  return { kills, acknowledged, faults }
}

async function runAndKill(
  setup: Setup,
  key: string,
  acked: Map<string, number>,
  { from, ms }: { readonly from: 'start' | 'answer'; readonly ms: number },
): Promise<void> {
  const { project, program, target, ledger, fault } = setup
  const args = [`${program}.ts`, target, key, String(acked.get(key)! + 1)]
  if (program !== 'turns') args.push(ledger)
  if (fault !== undefined) args.push(fault)
  const child = spawn(process.execPath, args, { cwd: project, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  createInterface({ input: child.stdout }).on('line', line => {
    const [, n] = /^acked (\d+)$/.exec(line) ?? []
    if (n !== undefined) acked.set(key, Math.max(acked.get(key)!, Number(n)))
    if (n !== undefined || from === 'start') resolve()
  })
  await Promise.race([ready, ended])
  await pause(ms)
  child.kill('SIGKILL')
  const [code, signal] = await ended
  if (signal !== 'SIGKILL') throw new Error(`${args.join(' ')} ended by itself: ${signal ?? code}\n${said}`)
}

/** Looks at a store with a program of the project. */
export async function look(project: string, target: string, keys: readonly string[]): Promise<Looked> {
  return JSON.parse(await run(process.execPath, ['look.ts', target, ...keys], { cwd: project })) as Looked
}

async function inspect(setup: Setup, acked: ReadonlyMap<string, number>): Promise<Faults> {
  const { findings, conversations } = await look(setup.project, setup.target, [...acked.keys()])
  const faults: Faults = { lost: 0, doubled: 0, partial: 0, paidTwice: 0, findings }
  for (const { key, path, stored } of conversations) {
    const said = path.flatMap(({ text }) => /^(question|answer|rest of answer) \d+/.exec(text)?.[0] ?? [])
    const isAnswered = (n: number) => said.includes(`answer ${n}`) || said.includes(`rest of answer ${n}`)
    for (let n = 0; n <= acked.get(key)!; n++) if (!isAnswered(n)) faults.lost++
    faults.doubled += said.length - new Set(said).size
    const questions = said.flatMap(text => /^question (\d+)/.exec(text)?.[1] ?? []).map(Number)
    // The last one may have been interrupted.
    faults.partial += questions.slice(0, -1).filter(n => !isAnswered(n)).length
    // Nothing is beside the path: no request was answered on another branch.
    if (stored !== path.length) faults.doubled += stored - path.length
    if (setup.program === 'turns' && said.length % 2 === 1) faults.partial++
  }
  if (existsSync(setup.ledger)) {
    const paid = readFileSync(setup.ledger, 'utf8').trim().split('\n')
    faults.paidTwice = paid.length - new Set(paid).size
  }
  return faults
}

/** Starts this many processes of `race.ts` on one conversation at once, and waits for their end. */
export async function race(
  project: string,
  target: string,
  how: string,
  processes: number,
  count: number,
): Promise<void> {
  const started = await Promise.all(
    Array.from({ length: processes }, async (_, i) => {
      const args = ['race.ts', target, `process ${i}`, how, String(count)]
      const child = spawn(process.execPath, args, { cwd: project, stdio: ['pipe', 'pipe', 'inherit'] })
      const ended = once(child, 'close')
      await Promise.race([once(child.stdout, 'data'), ended])
      return { child, ended }
    }),
  )
  for (const { child } of started) child.stdin.write('go\n')
  for (const { ended } of started) {
    const [code] = await ended
    if (code !== 0) throw new Error(`a process of ${how} ended with ${code}`)
  }
}

/** The questions of a race that are missing, stored twice, or not directly followed by their answer. */
export async function raceFaults(
  project: string,
  target: string,
  how: string,
  questions: readonly string[],
): Promise<string[]> {
  const { findings, conversations } = await look(project, target, [how])
  const said = conversations[0]!.path.map(({ text }) => text)
  const wrong = questions.filter(question => {
    const at = said.indexOf(question)
    return at < 0 || said[at + 1] !== `answer to ${question}` || said.lastIndexOf(question) !== at
  })
  const extra = said.length - 2 * questions.length
  const beside = conversations[0]!.stored - said.length
  return [...findings, ...wrong, ...(extra === 0 && beside === 0 ? [] : [`${extra} more, ${beside} beside`])]
}
