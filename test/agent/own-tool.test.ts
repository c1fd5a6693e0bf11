import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  choiceField,
  optionalText,
  optionalWhole,
  ownInput,
  readInput,
  textField,
  wholeField,
} from '../../src/agent/tools/own-tool.ts'
import type { Json } from '../../src/core/json.ts'

const fields = {
  id: textField({ min: 1, about: 'which one' }),
  rest: textField(),
  after: optionalText({ about: 'where' }),
  limit: wholeField(10, { min: 1, max: 20, about: 'how many' }),
  from: optionalWhole({ min: 0 }),
  order: choiceField('ranked', 'newest'),
}

/** The same input in zod. */
const schema = z.object({
  id: z.string().min(1).describe('which one'),
  rest: z.string(),
  after: z.string().optional().describe('where'),
  limit: z.int().min(1).max(20).default(10).describe('how many'),
  from: z.int().min(0).optional(),
  order: z.enum(['ranked', 'newest']).default('ranked'),
})

describe('the input of our own tools', () => {
  const { schema: written, check } = ownInput(fields)

  it('has the JSON schema that zod would write', () => {
    const { $schema: _, ...expected } = schema.toJSONSchema({ io: 'input' })
    expect(written).toEqual(expected)
    expect(Object.keys(written)).toEqual(Object.keys(expected))
  })

  it('accepts and reads what zod would', () => {
    const anything = fc.constantFrom<Json>('', 'a', 'ranked', 0, 1, 20, 21, -1, 1.5, 1e30, null, true, [], {})
    const mostly = (...valid: Json[]) =>
      fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...valid) }, { weight: 1, arbitrary: anything })
    const fieldsOf = {
      id: mostly('a', 'bc'),
      rest: mostly('', 'a'),
      after: mostly('x'),
      limit: mostly(1, 20),
      from: mostly(0, 7),
      order: mostly('ranked', 'newest'),
      other: anything,
    }
    const inputs = fc.oneof(
      anything,
      fc.record(fieldsOf, { requiredKeys: [] }),
      fc.record(fieldsOf, { requiredKeys: ['id', 'rest'] }),
    )
    let accepted = 0
    fc.assert(
      fc.property(inputs, given => {
        const parsed = schema.safeParse(given)
        expect(check(given) === null).toBe(parsed.success)
        if (!parsed.success) return
        accepted++
        expect({ ...readInput(fields, given) }).toEqual({ after: undefined, from: undefined, ...parsed.data })
      }),
      { numRuns: 2_000 },
    )
    expect(accepted).toBeGreaterThan(100)
  })

  it('says what is wrong with each field', () => {
    expect(check({ limit: 21, from: 1.5, order: 'oldest', after: 3, rest: '' })).toBe(
      [
        '✖ id: is missing',
        '✖ after: expected a string, received a number',
        '✖ limit: expected 1 to 20',
        '✖ from: expected a whole number',
        '✖ order: expected "ranked" or "newest"',
      ].join('\n'),
    )
    expect(check([])).toBe('✖ expected an object, received an array')
  })
})
