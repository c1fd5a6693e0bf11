import { pathOf } from 'skein'
// The AI SDK in two lines: wrap the model and the tools, and every call is recorded.

import { generateText, isStepCount, type ModelMessage, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { openStore, textOf } from 'skein'
import { recordTo } from 'skein/ai-sdk'
import { z } from 'zod'

const store = await openStore(':memory:')
const recorded = recordTo(store, 'example:ai')

// In your program this is openai('gpt-5') or any other model. This one needs no key.
const model = recorded(offline())
const tools = recorded.tools({
  weather: tool({
    description: 'The weather of a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `18 °C and sunny in ${city}`,
  }),
})

const messages: ModelMessage[] = [{ role: 'user', content: 'Do I need a coat in Lisbon?' }]
const { text, responseMessages } = await generateText({ model, tools, messages, stopWhen: isStepCount(5) })
console.log(`${text}\n`)

// Continue with your own message list as usual: stored messages are not stored again …
messages.push(...responseMessages, { role: 'user', content: 'Thanks!' })
await generateText({ model, tools, messages })

// … or, in another process, with the stored messages.
const later = recordTo(store, 'example:ai')
await generateText({
  model: later(offline()),
  messages: [...(await later.messages()), { role: 'user', content: 'And in the evening?' }],
})

const { head } = await store.getBranch(await later.place())
for (const message of await pathOf(store, head!)) {
  const [block] = message.content
  const tool =
    block?.type === 'tool_call' ? `calls ${block.name}` : block?.type === 'tool_result' && block.output
  console.log(`${message.role.padEnd(11)} ${tool || textOf(message)}`)
}

await store.close()

/** Calls the tool if the question mentions a coat, and answers with text otherwise. */
function offline() {
  return new MockLanguageModelV4({
    async doGenerate({ prompt }) {
      const last = prompt.at(-1)
      const said = last?.role === 'user' && last.content[0]?.type === 'text' ? last.content[0].text : ''
      const calls = said.includes('coat')
      const answer = last?.role === 'tool' ? 'No, leave it at home.' : 'Enjoy your day!'
      const tokens = { total: 12, noCache: 12, cacheRead: 0, cacheWrite: 0, text: 12, reasoning: 0 }
      return {
        content: calls
          ? [{ type: 'tool-call', toolCallId: 'call-1', toolName: 'weather', input: '{"city":"Lisbon"}' }]
          : [{ type: 'text', text: answer }],
        finishReason: { unified: calls ? 'tool-calls' : 'stop', raw: undefined },
        usage: { inputTokens: tokens, outputTokens: tokens },
        warnings: [],
      }
    },
  })
}
