import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { codingFacts, codingTurns, factsIn, transcriptIn } from '../agents/coding-talk.ts'
import { agentCommand, behindProxy, openStage, type Stage } from '../agents/harness.ts'
import { timesGiven } from '../agents/model-server.ts'
import type { CommandStep, Step } from '../agents/step.ts'
import { asZed } from '../agents/zed.ts'

/** Coding work that one agent begins and another continues: what does the model of the second one get? */

/** How the agents that we know show commands. */
const speech: Readonly<Record<string, Pick<CommandStep, 'through' | 'rawOutput'>>> = {
  claude: { through: 'terminal_output' },
  codex: { through: 'terminal_output_delta', rawOutput: { exit_code: 0 } },
  pi: { through: 'terminal_output' },
  kimi: { through: 'terminal/create' },
}

const behind = (name: string) => behindProxy(agentCommand('good'), '--name', name)

/** Ten turns of coding work with one agent, which is then killed. Returns the session id. */
async function workWith(stage: Stage, name: string): Promise<string> {
  const editor = await stage.start(behind(name), asZed())
  const id = await editor.newSession()
  for (const { words, command, edit, answer } of codingTurns) {
    const steps: Step[] = [{ type: 'text', text: 'I begin.' }]
    if (edit)
      steps.push({ type: 'edit', path: `${stage.cwd}/${edit.path}`, before: edit.before, after: edit.after })
    if (command) {
      const { line, output, exitCode } = command
      const { rawOutput, ...through } = speech[name]!
      const raw =
        rawOutput === undefined ? {} : { rawOutput: { ...(rawOutput as object), exit_code: exitCode } }
      steps.push({ type: 'command', command: line, output: [output], exitCode, ...through, ...raw })
    }
    stage.model.next(...steps, { type: 'text', text: answer })
    await editor.prompt(id, words)
  }
  await editor.kill9()
  return id
}

describe('a hand-over of ten coding turns', () => {
  it('has 40 facts to find', () => {
    expect(codingFacts).toHaveLength(40)
    expect(codingTurns.filter(({ command }) => command)).toHaveLength(7)
    expect(codingTurns[1]!.words.length).toBeGreaterThan(3_500)
  })

  it.each([
    ['claude', 'codex'],
    ['codex', 'pi'],
    ['pi', 'kimi'],
    ['kimi', 'claude'],
  ])(
    'from %s to %s: the first request has at least 36 of them, and a file has the rest',
    async (from, to) => {
      await using stage = await openStage()
      const id = await workWith(stage, from)
      const editor = await stage.start(behind(to), asZed())
      await editor.load(id)
      await editor.prompt(id, 'MARK-next What is still open?')
      const request = stage.model.last.messages.map(({ text }) => text).join('\n')
      const { found, missing } = factsIn(request)
      expect(missing.filter(({ kind }) => kind === 'decision' || kind === 'spec')).toEqual([])
      expect(found, JSON.stringify(missing)).toBeGreaterThanOrEqual(36)
      const file = transcriptIn(request)!
      const transcript = readFileSync(file, 'utf8')
      expect(factsIn(`${request}${transcript}`).missing).toEqual([])
      // Every line of a long output is there, too.
      expect(transcript).toContain('run 100: 17 ms')
      expect(request).toContain('edited src/lexer.ts (+3 −0)')
      expect(request).toMatch(/ran printf .* → exit 1: "?/)
      await editor.end()
      expect(existsSync(file), 'removed with the session').toBe(false)
    },
  )

  it('is the same for a fork on an agent that cannot fork', async () => {
    await using stage = await openStage()
    const command = behindProxy(agentCommand('good', '--without=fork'), '--name', 'claude')
    const id = await workWith(stage, 'claude')
    const editor = await stage.start(command, asZed())
    const { sessionId } = await editor.request('session/fork', {
      sessionId: id,
      cwd: stage.cwd,
      mcpServers: [],
    })
    await editor.prompt(sessionId, 'MARK-fork What is still open?')
    const { found } = factsIn(stage.model.last.messages.map(({ text }) => text).join('\n'))
    expect(found).toBeGreaterThanOrEqual(36)
  })
})

const words = (n: number) => `question ${n}: ${'x'.repeat(300)}`

describe('the size of a hand-over', () => {
  it('is that of --tell, else of acp.tell in the configuration', async () => {
    await using stage = await openStage()
    const agent = agentCommand('forgetful')
    const before = await stage.start(behindProxy(agent))
    const id = await before.newSession()
    for (let n = 0; n < 12; n++) await before.prompt(id, words(n))
    await before.end()
    const old = async (...flags: readonly string[]) => {
      const editor = await stage.start(behindProxy(agent, ...flags))
      await editor.load(id)
      await editor.prompt(id, 'continue')
      await editor.end()
      return timesGiven(stage.model.last, 'question 2:')
    }
    expect(await old()).toBe(1)
    expect(await old('--tell', '1000')).toBe(0)
    writeFileSync(join(stage.cwd, 'skein.yaml'), 'acp: { tell: 1000 }\n')
    expect(await old()).toBe(0)
  })
})
