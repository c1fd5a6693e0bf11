import { tool as aiTool, jsonSchema } from 'ai'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod3'
import { z as z4mini } from 'zod3/v4'
import { z as z40 } from 'zod40'
import { z as z41 } from 'zod41'
import type { StandardSchema } from '../../src/agent/tools/input-schema.ts'
import { specsOf, tool } from '../../src/agent/tools/tool.ts'
import type { Json } from '../../src/core/json.ts'
import { said, world } from './build.ts'

/** The same input in each library: `to` is a described text, `sum` at least 1, `note` optional. */
const schemas = {
  'zod 4': z.object({
    to: z.string().describe('The account'),
    sum: z.number().min(1),
    note: z.string().optional(),
  }),
  'zod 4.1': z41.object({
    to: z41.string().describe('The account'),
    sum: z41.number().min(1),
    note: z41.string().optional(),
  }),
  'zod 4.0': z40.object({
    to: z40.string().describe('The account'),
    sum: z40.number().min(1),
    note: z40.string().optional(),
  }),
  'zod 3.25': z3.object({
    to: z3.string().describe('The account'),
    sum: z3.number().min(1),
    note: z3.string().optional(),
  }),
  'zod/v4 of zod 3.25': z4mini.object({
    to: z4mini.string().describe('The account'),
    sum: z4mini.number().min(1),
    note: z4mini.string().optional(),
  }),
} satisfies Record<string, StandardSchema<{ to: string; sum: number; note?: string | undefined }>>

const asJson = {
  type: 'object',
  properties: {
    to: { type: 'string', description: 'The account' },
    sum: { type: 'number', minimum: 1 },
    note: { type: 'string' },
  },
  required: ['to', 'sum'],
} as const

async function checkOf(made: ReturnType<typeof tool>, input: Json): Promise<string | null> {
  return await made.check(input)
}

describe('the input of a tool', () => {
  for (const [name, input] of Object.entries(schemas)) {
    it(`takes a schema of ${name}, with its types and descriptions`, async () => {
      const pay = tool({
        description: 'Pays',
        input: input as (typeof schemas)['zod 4'],
        // The types come from the schema: this line does not compile otherwise.
        run: ({ to, sum }) => `${to.toUpperCase()} ${sum.toFixed(2)}`,
      })
      const [spec] = await specsOf({ pay })
      expect(spec?.schema).toMatchObject(asJson)
      expect(spec?.schema).not.toHaveProperty('$schema')
      expect(await checkOf(pay, { to: 'ada', sum: 2 })).toBeNull()
      expect(await checkOf(pay, { to: 'ada', sum: 0 })).toMatch(/^✖ .*1\n {2}→ at sum$/)
      await using here = await world([{ calls: [{ name: 'pay', input: { to: 'ada', sum: 2 } }] }, 'Paid.'], {
        tools: { pay },
      })
      await here.agent.ask('talk', 'pay')
      expect(await said(here.store, 'talk')).toContain('tool_result: "ADA 2.00"')
    })
  }

  it('takes a schema of arktype, which converts itself', async () => {
    const pay = tool({
      description: 'Pays',
      input: type({ to: 'string', sum: 'number >= 1', 'note?': 'string' }),
      run: ({ to, sum }) => `${to.toUpperCase()} ${sum.toFixed(2)}`,
    })
    const [spec] = await specsOf({ pay })
    expect(spec?.schema).toMatchObject({ type: 'object', properties: { sum: { minimum: 1 } } })
    expect(await checkOf(pay, { to: 'ada', sum: 0 })).toContain('→ at sum')
  })

  it('takes a schema of valibot with its JSON schema, and refuses it without one', async () => {
    const input = v.object({ to: v.string(), sum: v.pipe(v.number(), v.minValue(1)) })
    const run = ({ to, sum }: { to: string; sum: number }) => `${to} ${sum}`
    const pay = tool({ description: 'Pays', input, jsonSchema: asJson, run })
    expect((await specsOf({ pay }))[0]?.schema).toEqual(asJson)
    expect(await checkOf(pay, { to: 'ada' })).toContain('→ at sum')
    expect(() => tool({ description: 'Pays', input, run })).toThrow(
      'input: valibot gives no JSON schema: add one as `jsonSchema`',
    )
  })

  it('takes a JSON schema, and checks inputs against it', async () => {
    const pay = tool({ description: 'Pays', input: asJson, run: input => input })
    expect((await specsOf({ pay }))[0]?.schema).toEqual(asJson)
    expect(await checkOf(pay, { to: 'ada', sum: 2 })).toBeNull()
    expect(await checkOf(pay, { to: 'ada', sum: 0 })).toContain('→ at sum')
    expect(await checkOf(pay, 'ada')).toContain('expected')
  })

  it('refuses other values in a sentence', () => {
    const run = () => null
    for (const input of [undefined, null, 'text', 3, []])
      expect(() => tool({ description: '', input: input as never, run })).toThrow(
        'input: must be a schema of zod or another Standard Schema, or a JSON schema',
      )
    expect(() => tool({ description: '', input: z.string() as never, run })).toThrow('must be an object')
    expect(() => tool({ description: '', input: { type: 'string' }, run })).toThrow('must be an object')
  })
})

describe('a tool of the AI SDK', () => {
  it('runs as a tool of an agent, with the id of its call and a signal', async () => {
    const pay = aiTool({
      description: 'Pays',
      inputSchema: z.object({ to: z.string() }),
      execute: ({ to }, { toolCallId, abortSignal }) => ({ to, toolCallId, live: !abortSignal?.aborted }),
    })
    const script = [{ calls: [{ name: 'pay', input: { to: 'ada' } }] }, 'Paid.']
    await using here = await world(script, { tools: { pay } })
    await here.agent.ask('talk', 'pay')
    const [, , result] = await said(here.store, 'talk')
    expect(result).toMatch(/^tool_result: \{"to":"ada","toolCallId":".+","live":true\}$/)
  })

  it('shows its result as toModelOutput says, and takes the last of several results', async () => {
    const draw = aiTool({
      inputSchema: jsonSchema<{ what: string }>({ type: 'object', properties: { what: { type: 'string' } } }),
      async *execute({ what }) {
        yield 'drawing'
        yield what
      },
      toModelOutput: ({ output }) => ({
        type: 'content',
        value: [
          { type: 'text', text: output },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0KGgo=' } },
        ],
      }),
    })
    await using here = await world([{ calls: [{ name: 'draw', input: { what: 'a bridge' } }] }, 'Done.'], {
      tools: { draw },
    })
    await here.agent.ask('talk', 'draw')
    const [, , result] = await said(here.store, 'talk')
    expect(result).toContain('"text":"a bridge"')
    expect(result).toContain('"type":"image"')
  })

  it('asks for an approval if its needsApproval says so', async () => {
    const pay = aiTool({
      inputSchema: z.object({ sum: z.number() }),
      needsApproval: ({ sum }) => sum > 100,
      execute: ({ sum }) => `paid ${sum}`,
    })
    const calls = [5, 500].map(sum => ({ name: 'pay', input: { sum } }))
    const asked: unknown[] = []
    await using here = await world([{ calls }, 'Done.'], {
      tools: { pay },
      approve: ({ input }) => {
        asked.push(input)
        return 'deny'
      },
    })
    await here.agent.ask('talk', 'pay')
    expect(asked).toEqual([{ sum: 500 }])
    expect(await said(here.store, 'talk')).toContain('tool_result: "paid 5"')
    expect(await said(here.store, 'talk')).not.toContain('tool_result: "paid 500"')
  })

  it('is refused without `execute`, and other objects are refused by name', async () => {
    const elsewhere = aiTool({ inputSchema: z.object({}), outputSchema: z.string() })
    await expect(world([], { tools: { elsewhere } })).rejects.toThrow('must have `execute`')
    await expect(world([], { tools: { odd: {} as never } })).rejects.toThrow(
      'tools: odd must be made with tool(), got an object',
    )
  })
})

describe('the result of a tool', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic
  for (const [name, value] of Object.entries({
    'a BigInt': 1n,
    'a cycle': cyclic,
    'a Map': new Map([['a', 1]]),
    'a Response within an object': { response: new Response('x') },
    'nesting of 300 levels': JSON.parse(`${'['.repeat(300)}${']'.repeat(300)}`) as unknown,
  })) {
    it(`is reported as not storable, and the tool as run, if it is ${name}`, async () => {
      const odd = tool({ description: '', input: z.object({}), run: () => value })
      await using here = await world([{ calls: [{ name: 'odd', input: {} }] }, 'I see.'], { tools: { odd } })
      await here.agent.ask('talk', 'go')
      const [, , result] = await said(here.store, 'talk')
      expect(result).toMatch(/^tool_result: "The tool ran\. Its result cannot be stored: /)
    })
  }

  it('is an error if the tool returns an Error', async () => {
    const odd = tool({ description: '', input: z.object({}), run: () => new Error('no such file') })
    await using here = await world([{ calls: [{ name: 'odd', input: {} }] }, 'I see.'], { tools: { odd } })
    await here.agent.ask('talk', 'go')
    expect(await said(here.store, 'talk')).toContain('tool_result: "no such file"')
  })
})
