import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/agent/tools/tool.ts'
import { followStreamSchema, turnEventSchema } from '../../src/api/schema/index.ts'
import { createService } from '../../src/server/index.ts'
import { checkEvent } from './checked-events.ts'
import { startService } from './harness.ts'

interface Schema {
  readonly $ref?: string
  readonly description?: string
  readonly oneOf?: readonly Schema[]
  readonly discriminator?: { readonly mapping: Readonly<Record<string, string>> }
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, Schema>>
}

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly schema: Schema }[]
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }>
  >
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const unused = () => Promise.reject(new Error('no request is made'))
const options = { storeOf: unused, agentOf: unused, tokens: { findToken: unused } }
const { paths, components } = createService(options).openApi() as Document

function schemaNamed(reference: string): Schema {
  return components.schemas[reference.split('/').at(-1)!]!
}

describe('the OpenAPI document', () => {
  it.each([
    ['GET /follow', paths['/api/v1/follow']!.get!, followStreamSchema],
    ['POST …/turns', paths['/api/v1/conversations/{id}/turns']!.post!, turnEventSchema],
  ])('has a schema with a description for each event of %s', (_, operation, schema) => {
    const { $ref } = operation.responses[200]!.content['text/event-stream']!.schema
    const { oneOf = [], discriminator } = schemaNamed($ref!)
    const types = schema.options.map(option => option.shape.type.value as string)
    expect(Object.keys(discriminator!.mapping)).toEqual(types)
    expect(oneOf.length).toBe(types.length)
    for (const event of oneOf) {
      const { description, properties, required } = schemaNamed(event.$ref!)
      expect([event.$ref, description]).toEqual([event.$ref, expect.stringMatching(/\.$/)])
      expect(required).toContain('type')
      expect(Object.keys(properties!)).toContain('type')
    }
  })

  it.each(['/api/v1/search', '/api/v1/conversations'])('has the filters by metadata of %s', path => {
    const { parameters } = paths[path]!.get!
    const [open] = parameters.filter(({ schema }) => schema.patternProperties)
    expect(open).toMatchObject({ in: 'query', style: 'form', explode: true })
    expect(new RegExp(Object.keys(open!.schema.patternProperties!)[0]!).test('metadata.team')).toBe(true)
  })
})

describe('the check that all tests of streams make', () => {
  const gone = { type: 'gone', conversation: 'x' }
  const textOf = (event: { type: string }, name = event.type, id = 'id: 1\n') =>
    `${id}event: ${name}\ndata: ${JSON.stringify(event)}`

  it('accepts what is documented, and refuses other types, fields, names and ids', () => {
    const check = (text: string) => checkEvent(text, followStreamSchema, true)
    check(textOf(gone))
    check(textOf({ type: 'closing', reason: 'shutdown' } as { type: string }, 'closing', ''))
    check('retry: 1000')
    check(': still here')
    expect(() => check(textOf({ type: 'renamed' }))).toThrow('not in the schema')
    expect(() => check(textOf({ ...gone, more: 1 } as { type: string }))).toThrow('not in the schema')
    expect(() => check(textOf(gone, 'left'))).toThrow('not its type')
    expect(() => check(textOf(gone, 'gone', ''))).toThrow('have an id')
  })

  it('sees the events of a turn: thinking, a tool, the end, a failure', async () => {
    const look = tool({ description: 'Looks', input: z.object({}), run: () => 'seen' })
    await using service = await startService({
      script: [
        { thinking: 'I look first.', calls: [{ name: 'look', input: {} }] },
        'I saw it.',
        { fail: 400, message: 'no' },
      ],
      tools: { look },
    })
    const { conversation } = await service.store.create()
    const ask = async () => {
      const response = await service.fetch(`/conversations/${conversation.id}/turns`, {
        body: { content: 'Look!' },
        headers: { accept: 'text/event-stream' },
      })
      return [...(await response.text()).matchAll(/^event: (.*)$/gm)].map(([, name]) => name)
    }
    const expected = ['started', 'thinking', 'tool_started', 'tool_ended', 'text', 'answered', 'ended']
    expect(new Set(await ask())).toEqual(new Set(expected))
    expect(await ask()).toEqual(['started', 'failed'])
  })
})
