/** A program of an application that has other versions of zod than ours. The package check compiles and runs
 *  it in a project with the packed file. */
import { createAgent, tool } from 'skein/agent'
import { scripted } from 'skein/models'
import { z } from 'zod'
import { z as z3 } from 'zod3'
import { z as z40 } from 'zod40'
import { z as z41 } from 'zod41'

const description = 'Pays'
// The types of the input come from each schema: `toUpperCase` and `toFixed` compile only with them.
const tools = {
  newest: tool({
    description,
    input: z.object({ to: z.string(), sum: z.number() }),
    run: ({ to, sum }) => `${to.toUpperCase()} ${sum.toFixed(2)}`,
  }),
  zod41: tool({
    description,
    input: z41.object({ to: z41.string(), sum: z41.number() }),
    run: ({ to, sum }) => `${to.toUpperCase()} ${sum.toFixed(2)}`,
  }),
  zod40: tool({
    description,
    input: z40.object({ to: z40.string(), sum: z40.number() }),
    run: ({ to, sum }) => `${to.toUpperCase()} ${sum.toFixed(2)}`,
  }),
  zod3: tool({
    description,
    input: z3.object({ to: z3.string(), sum: z3.number() }),
    run: ({ to, sum }) => `${to.toUpperCase()} ${sum.toFixed(2)}`,
  }),
  json: tool<{ to: string; sum: number }>({
    description,
    input: { type: 'object', properties: { to: { type: 'string' }, sum: { type: 'number' } } },
    run: ({ to, sum }) => `${to.toUpperCase()} ${sum.toFixed(2)}`,
  }),
}

const calls = Object.keys(tools).map(name => ({ name, input: { to: 'ada', sum: 2 } }))
await using agent = createAgent({ model: scripted({ script: [{ calls }, 'Paid.'] }), tools })
for await (const event of agent.send('talk', 'pay')) {
  if (event.type === 'tool_ended') console.log(event.name, event.output)
}
