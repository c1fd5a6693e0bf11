import { describe, expect, it } from 'vitest'
import { lackingIn } from '../../../src/acp/memory/compare.ts'
import { hear } from '../../../src/acp/transcript/hear.ts'
import { updatesOf } from '../../../src/acp/transcript/updates.ts'
import { assistant, path, user } from '../transcript/said.ts'

describe('what an agent lacks', () => {
  it('is nothing when it replays all of it', () => {
    const stored = path(user('one'), assistant('first'), user('two'), assistant('second'))
    expect(lackingIn(updatesOf(stored).map(hear), stored)).toEqual([])
    expect(lackingIn(updatesOf(stored.slice(0, 2)).map(hear), stored)).toEqual(stored.slice(2))
    expect(lackingIn([], stored)).toEqual(stored)
  })
})
