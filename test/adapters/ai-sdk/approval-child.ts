import { appendFileSync } from 'node:fs'
import { generateText, isStepCount, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { z } from 'zod'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { openStore } from '../../../src/stores/open.ts'

/** A process that asks a model for a call that needs an approval, answers the request, or resumes. For each
 *  action it reads the store, reports `ready`, acts when it receives `go`, and reports how that ended. The
 *  tool hangs if the conversation's key says so. */
const [target, log] = process.argv.slice(2)
const usage = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 }
const model = new MockLanguageModelV4({
  async doGenerate({ prompt }) {
    const isQuestion = prompt.at(-1)!.role === 'user'
    return {
      content: isQuestion
        ? [{ type: 'tool-call', toolCallId: 'c1', toolName: 'deploy', input: '{}' }]
        : [{ type: 'text', text: 'done' }],
      finishReason: { unified: isQuestion ? 'tool-calls' : 'stop', raw: undefined },
      usage: { inputTokens: usage, outputTokens: usage },
      warnings: [],
    }
  },
})

const store = await openStore(target!)
process.on('disconnect', () => process.exit())
process.on('message', (command: { action: string; key: string }) => {
  if (command.action !== 'go') void run(command.action, command.key)
})
process.send!('started')

async function run(action: string, key: string): Promise<void> {
  const deploy = tool({
    inputSchema: z.object({}),
    needsApproval: true,
    async execute() {
      appendFileSync(log!, `${key}\n`)
      process.send!('running')
      if (key === 'hangs' && action === 'resume') await new Promise(() => undefined)
      return 'deployed'
    },
  })
  const recorded = recordTo(store, key)
  const tools = recorded.tools({ deploy })
  const options = { model: recorded(model), tools, stopWhen: isStepCount(3) }
  const [request] = action === 'allow' ? await recorded.approvals() : []
  const interrupted = action.startsWith('resume') ? await recorded.resume() : null
  process.send!('ready')
  await new Promise(resolve => process.once('message', resolve))
  try {
    if (action === 'ask') await generateText({ ...options, prompt: 'go' })
    else if (action === 'allow')
      await store.answerApproval(request!.conversationId, request!.id, { answer: 'allow' })
    else await generateText({ ...options, messages: interrupted!.messages })
    process.send!('done')
  } catch (error) {
    process.send!(`refused ${(error as { code?: string }).code}`)
  }
}
