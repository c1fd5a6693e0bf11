import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { killAll, runVariable } from '../../test/acp/agents/processes.ts'
import { timesIn } from '../../test/acp/agents/step.ts'
import { root } from '../check/command.ts'
import { halfOf, questionOf } from './model.ts'
import { notOffered } from './restart.ts'
import { type Expected, givenToModel, textsOf, verdict } from './seen-by.ts'
import type { AgentCells } from './table.ts'
import type { AgentWorld } from './world.ts'

const key = 'real-agents'

/** The same kills with one of our own programs instead of the editor. "Shown" means stored. */
export async function byHost(world: AgentWorld): Promise<AgentCells> {
  const { model } = world
  await say(world, 'one', 'ended')
  await say(world, 'two', 'ended')
  const memory = givenToModel(model, 'two', { turns: ['one'] })
  const shown = await stored(world, { turns: ['one', 'two'] })
  model.holdBack('cut')
  await say(world, 'cut', halfOf('cut'))
  await say(world, 'then', 'ended')
  const cut = { questions: ['cut'], halves: ['cut'] }
  return {
    memory,
    shown,
    question: givenToModel(model, 'then', { turns: ['one', 'two'], questions: ['cut'] }),
    half: givenToModel(model, 'then', { turns: [], halves: ['cut'] }),
    halfShown: await stored(world, { turns: ['one', 'two', 'then'], ...cut }),
    ...{ terminal: notOffered, facts: notOffered, deleteFork: notOffered, reload: notOffered },
    mcp: notOffered,
    ...{ list: notOffered, resume: notOffered, fork: notOffered, close: notOffered, delete: notOffered },
  }
}

const storeOf = ({ cwd }: AgentWorld) => join(cwd, '../store.db')

/** Starts a host, sends a prompt, and kills everything one second after this text was printed. */
async function say(world: AgentWorld, name: string, until: string): Promise<void> {
  const run = randomUUID()
  const program = join(root, 'scripts/agents/host-turn.ts')
  const args = [program, storeOf(world), key, questionOf(name), ...world.command]
  const child = spawn(process.execPath, args, { cwd: world.cwd, env: { ...world.env, [runVariable]: run } })
  let [said, complaints] = ['', '']
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  try {
    await new Promise<void>((resolve, reject) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text
        if (said.includes(until)) resolve()
      })
      child.on('close', code => reject(new Error(`the host ended with ${code}: ${complaints.slice(-500)}`)))
      setTimeout(() => reject(new Error(`the host was too slow: ${complaints.slice(-500)}`)), 120_000).unref()
    })
    await wait(1_000)
  } finally {
    await killAll(run)
  }
}

async function stored(world: AgentWorld, expected: Expected) {
  await using store = await openSqliteStore(storeOf(world))
  const { head } = (await store.resolve(key)).branch
  const text = (head === null ? [] : await pathOf(store, head)).map(textOf).join('\n')
  return verdict(textsOf(expected).map(one => [one, timesIn(text, one)]))
}
