import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NotFoundError } from '../../src/core/errors.ts'
import {
  buildForest,
  byActivity,
  childrenOf,
  pathTo,
  subtreeOf,
  type Tree,
  walkForest,
} from '../../src/core/tree.ts'
import { processorTimer } from '../support/processor-time.ts'

interface Node {
  readonly id: string
  readonly parentId: string | null
  readonly seq: number
  readonly createdAt: Date
}

/** A node of the minute `minute` under `parentId`. */
const node = (seq: number, parentId: string | null, minute = seq): Node => ({
  id: `m${seq}`,
  parentId,
  seq,
  createdAt: new Date(minute * 60_000),
})

const grow = (parents: readonly (number | null)[]): Node[] =>
  parents.map((parent, seq) => node(seq, parent === null ? null : `m${parent}`))

const drawn = (forest: readonly Tree<Node>[]): string[] =>
  [...walkForest(forest)].map(({ tree, depth }) => `${'  '.repeat(depth)}${tree.node.id}`)

const idsOf = (nodes: readonly Node[]): string[] => nodes.map(({ id }) => id)

/** Trees of up to 40 nodes in any order, with times independent of the order of seq. */
const lists = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 9 })), { maxLength: 40 }).map(choices =>
  choices.map(([choice, minute], seq) => {
    const parent = choice % (seq + 1)
    return node(seq, parent === seq ? null : `m${parent}`, minute)
  }),
)
const shuffled = lists.chain(nodes => fc.shuffledSubarray(nodes, { minLength: nodes.length }))

describe('buildForest', () => {
  it('builds several roots from a list in any order, with children in order of seq (S3-65)', () => {
    const nodes = grow([null, 0, 0, null, 1, 3])
    expect(drawn(buildForest(nodes.toReversed()))).toEqual(['m0', '  m1', '    m4', '  m2', 'm3', '  m5'])
  })

  it('makes a root of a node whose parent is not in the list', () => {
    expect(drawn(buildForest(grow([null, 0, 1]).slice(1)))).toEqual(['m1', '  m2'])
  })

  it('keeps every node of an inconsistent list', () => {
    const nodes = [node(0, 'm1'), node(1, 'm0'), node(2, 'm2')]
    expect([...walkForest(buildForest(nodes))]).toHaveLength(3)
  })

  it('contains each node once, under its parent', () => {
    fc.assert(
      fc.property(shuffled, nodes => {
        const walked = [...walkForest(buildForest(nodes))]
        expect(idsOf(walked.map(({ tree }) => tree.node)).sort()).toEqual(idsOf(nodes).sort())
        for (const { tree } of walked) {
          expect(idsOf(tree.children.map(child => child.node))).toEqual(
            idsOf(childrenOf(nodes, tree.node.id)),
          )
        }
      }),
    )
  })
})

describe('pathTo', () => {
  it('returns the nodes from the root to the node, and nothing below it (S3-45)', () => {
    expect(idsOf(pathTo(grow([null, 0, 0, 1, 3]), 'm3'))).toEqual(['m0', 'm1', 'm3'])
  })

  it('ends at an inconsistency of the list', () => {
    expect(idsOf(pathTo([node(0, 'm1'), node(1, 'm0')], 'm1'))).toEqual(['m0', 'm1'])
    expect(idsOf(pathTo([node(0, 'm0')], 'm0'))).toEqual(['m0'])
  })

  it('refuses a missing node', () => {
    expect(() => pathTo(grow([null]), 'm9')).toThrow(NotFoundError)
  })
})

describe('subtreeOf', () => {
  it('returns the node and everything below it, in order of seq', () => {
    expect(idsOf(subtreeOf(grow([null, 0, 0, 1, 2, 3]).toReversed(), 'm1'))).toEqual(['m1', 'm3', 'm5'])
  })

  it('refuses a missing node', () => {
    expect(() => subtreeOf(grow([null]), 'm9')).toThrow(NotFoundError)
  })

  it('returns exactly the nodes whose path contains the node', () => {
    fc.assert(
      fc.property(shuffled, fc.nat(), (nodes, pick) => {
        fc.pre(nodes.length > 0)
        const { id } = nodes[pick % nodes.length]!
        const through = nodes.filter(each => idsOf(pathTo(nodes, each.id)).includes(id))
        expect(idsOf(subtreeOf(nodes, id)).sort()).toEqual(idsOf(through).sort())
      }),
    )
  })
})

describe('childrenOf', () => {
  it('returns the roots for null', () => {
    expect(idsOf(childrenOf(grow([null, 0, null]), null))).toEqual(['m0', 'm2'])
  })
})

describe('byActivity', () => {
  it('puts the most recently active branch last, at every level (S3-64)', () => {
    // The first tree has the newest message (m6), deep in its older branch.
    const nodes = [
      node(0, null),
      node(1, 'm0'),
      node(2, 'm0'),
      node(3, null),
      node(4, 'm3'),
      node(5, 'm2'),
      node(6, 'm1'),
    ]
    expect(drawn(byActivity(buildForest(nodes)))).toEqual([
      'm3',
      '  m4',
      'm0',
      '  m2',
      '    m5',
      '  m1',
      '    m6',
    ])
  })

  it('sorts by time, not by seq, because imports bring their own times', () => {
    const nodes = [node(0, null, 0), node(1, 'm0', 50), node(2, 'm0', 40), node(3, 'm0', 45)]
    expect(drawn(byActivity(buildForest(nodes)))).toEqual(['m0', '  m2', '  m3', '  m1'])
  })

  it('sorts by seq within a millisecond, and by id between conversations', () => {
    const twins = [node(0, null, 7), { ...node(1, 'm0', 7), id: 'b' }, { ...node(2, 'm0', 7), id: 'a' }]
    expect(drawn(byActivity(buildForest(twins)))).toEqual(['m0', '  b', '  a'])
    const roots = ['b', 'a'].map(id => ({ ...node(0, null, 7), id }))
    expect(drawn(byActivity(buildForest(roots)))).toEqual(['a', 'b'])
  })

  it('changes only the order of siblings, by the newest message of each', () => {
    const newestOf = (tree: Tree<Node>): number =>
      Math.max(...[...walkForest([tree])].map(({ tree: each }) => each.node.createdAt.getTime()))
    fc.assert(
      fc.property(shuffled, nodes => {
        const forest = byActivity(buildForest(nodes))
        expect(drawn(forest).sort()).toEqual(drawn(buildForest(nodes)).sort())
        for (const siblings of [forest, ...[...walkForest(forest)].map(({ tree }) => tree.children)]) {
          const times = siblings.map(newestOf)
          expect(times).toEqual(times.toSorted((a, b) => a - b))
        }
      }),
    )
  })
})

describe('the functions on trees', () => {
  const many = 100_000
  const deep = grow(Array.from({ length: many }, (_, seq) => (seq === 0 ? null : seq - 1)))
  const wide = grow(Array.from({ length: many }, (_, seq) => (seq === 0 ? null : 0)))

  it.each([
    ['levels', deep, many, 1],
    ['siblings', wide, 2, many - 1],
  ] as const)('handle 100,000 %s in reasonable time', (_, nodes, pathLength, children) => {
    const took = processorTimer()
    const forest = byActivity(buildForest(nodes))
    expect(forest).toHaveLength(1)
    expect(forest[0]!.children).toHaveLength(children)
    let walked = 0
    for (const _each of walkForest(forest)) walked++
    expect(walked).toBe(many)
    expect(pathTo(nodes, `m${many - 1}`)).toHaveLength(pathLength)
    expect(subtreeOf(nodes, 'm0')).toHaveLength(many)
    expect(childrenOf(nodes, 'm0')).toHaveLength(children)
    expect(took()).toBeLessThan(5_000)
  })
})
