/** An application of the AI SDK with `recordTo`, as `docs/ai-sdk.md` describes it: it continues an
 *  interrupted answer first, and then asks the next question. `acked <n>` follows each answer.
 *
 *  node ai-sdk.ts <store> <key> <ignored> <ledger> [forgetful] */
import { appendFileSync, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { type ModelMessage, simulateReadableStream, stepCountIs, streamText, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { openStore } from 'skein'
import { recordTo } from 'skein/ai-sdk'
import { z } from 'zod'

const [target = '', key = '', , ledger = '', fault = ''] = process.argv.slice(2)
const tell = (line: string) => writeSync(1, `${line}\n`)

const pay = tool({
  description: 'Pays a bill',
  inputSchema: z.object({ bill: z.number() }),
  execute: async ({ bill }) => {
    appendFileSync(ledger, `${key} ${bill}\n`)
    // A control is killed while it pays.
    await pause(fault === '' ? 3 : 150)
    return `bill ${bill} is paid`
  },
})

const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 }
const usage = { inputTokens: tokens, outputTokens: tokens }
const model = new MockLanguageModelV4({
  doStream: async ({ prompt }) => {
    const asked = numberIn(prompt.findLast(isQuestion)?.content)
    // Only a question that nothing follows is answered by a call.
    const isNew = isQuestion(prompt.at(-1))
    const chunks = isNew
      ? [
          {
            type: 'tool-call' as const,
            toolCallId: crypto.randomUUID(),
            toolName: 'pay',
            input: `{"bill":${asked}}`,
          },
          {
            type: 'finish' as const,
            finishReason: { unified: 'tool-calls' as const, raw: undefined },
            usage,
          },
        ]
      : [
          { type: 'text-start' as const, id: '1' },
          ...[prompt.at(-1)?.role === 'tool' ? 'answer' : 'rest of answer', ' ', String(asked)].map(
            delta => ({ type: 'text-delta' as const, id: '1', delta }),
          ),
          { type: 'text-end' as const, id: '1' },
          { type: 'finish' as const, finishReason: { unified: 'stop' as const, raw: undefined }, usage },
        ]
    const start = { type: 'stream-start' as const, warnings: [] }
    return { stream: simulateReadableStream({ chunks: [start, ...chunks], chunkDelayInMs: 1 }) }
  },
})

function isQuestion(message: { readonly role: string; readonly content: unknown } | undefined): boolean {
  return message?.role === 'user' && JSON.stringify(message.content).includes('question ')
}

function numberIn(content: unknown): number {
  return Number(/question (\d+)/.exec(JSON.stringify(content))?.[1])
}

const store = await openStore(target)
const recorded = recordTo(store, key, { onBusy: 'wait' })

async function answer(messages: ModelMessage[]): Promise<void> {
  const asked = numberIn(messages.findLast(isQuestion)?.content)
  const options = { model: recorded(model), tools: recorded.tools({ pay }), stopWhen: stepCountIs(5) }
  await streamText({ ...options, messages, onError: ({ error }) => console.error(error) }).text
  await recorded.end()
  tell(`acked ${asked}`)
}

tell('ready')
const interrupted = await recorded.resume()
// The control forgets what it was doing, and asks its last question again.
if (interrupted && fault === '') await answer(interrupted.messages)
for (;;) {
  const before = await recorded.messages()
  const asked = before.filter(isQuestion).length
  const next = fault !== '' && interrupted && asked > 0 ? asked - 1 : asked
  await answer([...before, { role: 'user', content: `question ${next}` }])
}
