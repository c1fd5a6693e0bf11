import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nameTools } from '../../../src/agent/mcp/open-mcp-tools.ts'

const seed = 20_261_116

const named = (tools: Record<string, readonly string[]>) => {
  const names = nameTools(Object.keys(tools), server => tools[server]!)
  return Object.entries(tools).map(([server, own]) => own.map(tool => names.get(server)!.get(tool)!))
}

describe('nameTools', () => {
  it('joins the names of the server and the tool', () => {
    expect(named({ github: ['search', 'create-issue'], 'my-db': ['read_rows'] })).toEqual([
      ['github_search', 'github_create-issue'],
      ['my-db_read_rows'],
    ])
  })

  it('uses only characters that every provider accepts', () => {
    expect(named({ 'My files': ['fs.read', 'größe'] })).toEqual([['My_files_fs_read', 'My_files_gr__e']])
  })

  it('distinguishes equal names, and the unchanged one keeps its name', () => {
    const [names] = named({ fs: ['a.b', 'a_b', 'a/b'] })
    expect(names![1]).toBe('fs_a_b')
    expect(names![0]).toMatch(/^fs_a_b_[0-9a-f]{8}$/)
    expect(names![2]).toMatch(/^fs_a_b_[0-9a-f]{8}$/)
    expect(new Set(names).size).toBe(3)
  })

  it('distinguishes servers with a common prefix, started or not', () => {
    const [[short], [long]] = named({ a: ['b_c'], a_b: ['c'] }) as [[string], [string]]
    expect(short).toBe('a_b_c')
    expect(long).toMatch(/^a_b_[0-9a-f]{8}_c$/)
    expect(named({ a: [], a_b: ['c'] })).toEqual([[], [long]])
  })

  it('shortens long names, and keeps them distinct', () => {
    const tools = ['x'.repeat(100), `${'x'.repeat(100)}y`]
    const [names] = named({ long: tools })
    expect(names!.map(name => name.length)).toEqual([64, 64])
    expect(new Set(names).size).toBe(2)
  })

  it('returns valid, distinct names that do not depend on the tools of other servers, for any servers', () => {
    const word = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'b', '_', '.', ' ', 'é'), maxLength: 6 }),
      fc.string({ unit: fc.constantFrom('a', '_', 'é'), minLength: 55, maxLength: 70 }),
    )
    const servers = fc.dictionary(word, fc.uniqueArray(word, { maxLength: 5 }), { maxKeys: 5 })
    fc.assert(
      fc.property(servers, tools => {
        const names = named(tools)
        for (const name of names.flat()) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
        expect(new Set(names.flat()).size).toBe(names.flat().length)
        for (const [i, server] of Object.keys(tools).entries()) {
          const alone = Object.fromEntries(
            Object.entries(tools).map(([name, own]) => [name, name === server ? own : []]),
          )
          expect(named(alone)[i]).toEqual(names[i])
        }
      }),
      { seed, numRuns: 2_000 },
    )
  })
})
