import { argv } from 'node:process'
import { isStepCount, streamText, tool } from 'ai'
import { z } from 'zod'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { openStore } from '../../../src/stores/open.ts'
import { modelOf, type Provider } from './setting-models.ts'

/** A process that calls a model through a recorder, and is killed meanwhile: `node mortal.ts <file>
 *  <provider> <base URLs>`. It reports when its tool runs; the tool ends only after the input `go`. */
const [file = '', provider = 'openai', baseUrls = '{}'] = argv.slice(2)
const store = await openStore(file)
const recorded = recordTo(store, 'example:ai')
const go = new Promise(resolve => process.on('message', resolve))
const look = tool({
  inputSchema: z.object({}),
  execute: async () => {
    process.send!('running')
    await go
    return 'seen'
  },
})
process.on('disconnect', () => process.exit())
await streamText({
  model: recorded(modelOf(provider as Provider, { baseUrls: JSON.parse(baseUrls) })),
  tools: recorded.tools({ look }),
  prompt: 'look',
  stopWhen: isStepCount(5),
}).consumeStream()
