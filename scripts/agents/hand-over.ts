import { existsSync, readFileSync } from 'node:fs'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import type { AcpClient } from '../../test/acp/agents/client.ts'
import { codingFacts, codingTurns, factsIn, transcriptIn } from '../../test/acp/agents/coding-talk.ts'
import { asZed } from '../../test/acp/agents/zed.ts'
import { questionOf } from './model.ts'
import { notOffered, readCapabilities, tried } from './restart.ts'
import type { Cell } from './seen-by.ts'
import { type AgentWorld, quiet } from './world.ts'

/** Ten coding turns in an editor like Zed: is the output of commands kept, and what does another agent know
 *  that continues the work? */
export interface HandOverCells {
  readonly terminal: Cell
  readonly facts: Cell
}

const results = codingFacts.filter(({ kind }) => kind === 'result').map(({ text }) => text)

export async function handOver(world: AgentWorld, next: AgentWorld | null): Promise<HandOverCells> {
  const client = await world.start(asZed())
  const sessionId = await client.newSession()
  for (const { words } of codingTurns) {
    await client.prompt(sessionId, words)
    await quiet(client, 300)
  }
  // Some agents run commands in terminals of the editor, which has the output.
  const isOurs = client.messages.some(message => message?.method === 'terminal/create')
  const sent = isOurs ? results : results.filter(one => outputsIn(client, sessionId).includes(one))
  await client.kill9()
  return { terminal: await shownAgain(world, sessionId, sent), facts: await knownTo(next, sessionId, sent) }
}

/** Whether a load shows the output of every command that was sent to the editor, and the store has it. */
async function shownAgain(world: AgentWorld, sessionId: string, sent: readonly string[]): Promise<Cell> {
  if (sent.length === 0) return notOffered
  const client = await world.start(asZed())
  const cell = await tried(readCapabilities(client).load, async () => {
    await client.load(sessionId)
    await quiet(client)
    const shown = outputsIn(client, sessionId)
    const stored = existsSync(world.store) ? await storedResults(world.store) : shown
    return verdictOf('shown', shown, sent) ?? verdictOf('stored', stored, sent) ?? 'yes'
  })
  await client.kill9()
  return cell
}

function verdictOf(what: string, text: string, sent: readonly string[]): Cell | null {
  const found = sent.filter(one => text.includes(one)).length
  return found === sent.length ? null : `no: ${found} of ${sent.length} ${what}`
}

/** What an editor shows of tool calls: without their arguments, which contain the same words. */
function outputsIn(client: AcpClient, sessionId: string): string {
  return client
    .updates(sessionId)
    .filter(({ sessionUpdate }) => sessionUpdate.startsWith('tool_call'))
    .map(({ content, rawOutput, _meta }) => JSON.stringify([content, rawOutput, _meta]))
    .join('\n')
}

async function storedResults(file: string): Promise<string> {
  await using store = await openSqliteStore(file)
  const { items } = await store.listConversations()
  const texts = await Promise.all(
    items.map(async ({ branch }) => (branch.head === null ? [] : await pathOf(store, branch.head))),
  )
  return texts
    .flat()
    .filter(({ role }) => role === 'tool_result')
    .map(message => JSON.stringify(message.content) + textOf(message))
    .join('\n')
}

/** The facts in the first request of another agent that continues the conversation. The output of a command
 *  that the first agent has not sent to its editor cannot be known, and does not count; the cell says so. */
async function knownTo(next: AgentWorld | null, sessionId: string, sent: readonly string[]): Promise<Cell> {
  if (!next) return notOffered
  const client = await next.start(asZed())
  try {
    await client.load(sessionId)
    await client.prompt(sessionId, `${questionOf('next')} What is still open?`)
    const asked = next.model.asked('next')
    if (!asked) return 'no: the model was not asked'
    const request = asked.messages.map(({ text }) => text).join('\n')
    const unsent = results.filter(one => !sent.includes(one))
    const { found, missing } = factsIn(request)
    const file = transcriptIn(request)
    const rest = factsIn(`${request}${file === null ? '' : readFileSync(file, 'utf8')}`)
    const nowhere = rest.missing.map(({ text }) => text).filter(one => !unsent.includes(one))
    const all = codingFacts.length - unsent.length
    const isGood =
      found >= all * 0.9 &&
      nowhere.length === 0 &&
      missing.every(({ kind }) => kind !== 'decision' && kind !== 'spec')
    const lost = nowhere.length > 0 ? `, ${nowhere.join('; ')} nowhere` : ''
    const silent = unsent.length > 0 ? `, ${unsent.length} results not sent to the editor` : ''
    return `${isGood ? 'yes' : 'no'}: ${found} of ${all} in ${next.name}${lost}${silent}`
  } finally {
    await client.kill9()
  }
}
