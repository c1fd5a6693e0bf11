import { argv, kill, pid } from 'node:process'
import { generateText, type ModelMessage } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import type { Store } from '../../../src/core/ports.ts'
import { openStore } from '../../../src/stores/open.ts'

/** A process that asks, asks for another answer or edits its question, and is killed by SIGKILL as soon as
 *  the first append to another branch has returned: `node regenerating.ts <store> <regenerate|edit>`. */
const [target = '', how = 'edit'] = argv.slice(2)
const store = await openStore(target)

const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 }
const model = new MockLanguageModelV4({
  doGenerate: {
    content: [{ type: 'text', text: 'an answer' }],
    finishReason: { unified: 'stop', raw: undefined },
    usage: { inputTokens: tokens, outputTokens: tokens },
    warnings: [],
  },
})
const question: ModelMessage[] = [{ role: 'user', content: 'q' }]
const edited: ModelMessage[] = [{ role: 'user', content: 'edited' }]
await generateText({ model: recordTo(store, 'web:42')(model), messages: question })

const mortal: Store = {
  ...store,
  append: async (...given) => {
    const appended = await store.append(...given)
    if (appended.branch.name !== 'main') kill(pid, 'SIGKILL')
    return appended
  },
}
const recorded = recordTo(mortal, 'web:42')
await generateText({ model: recorded(model), messages: how === 'edit' ? edited : question })
