import { longestString, maxNesting } from '../../core/json.ts'
import type { Store } from '../../core/ports.ts'
import { casesOf, say } from './build.ts'
import type { ContractCase } from './contract-case.ts'
import { refuses, type StartedConversation } from './refuses.ts'

const it = casesOf('refusals')

/** Appends a valid message and then this one. */
const appendBad = (store: Store) => (place: StartedConversation, message: never) =>
  store.append(place.branch, place.ids[2], [say('good'), message])

/** Appends a valid message and then one with this block. */
const appendBlock = (store: Store) => (place: StartedConversation, block: never) =>
  store.append(place.branch, place.ids[2], [say('good'), { role: 'user', content: [block] }])

class Custom {
  readonly field = 1
}

/** Values that JSON would drop or change silently. */
function notJson(field: string): [string, unknown][] {
  const plain: [string, unknown][] = [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -Infinity,
    () => 1,
    Symbol('s'),
    10n,
    new Date(0),
    new Map([['a', 1]]),
    new Set([1]),
    new Custom(),
    new Uint8Array(3),
    /x/,
    Promise.resolve(),
    Object('boxed'),
  ].map(value => [`${field}.x`, { x: value }])
  return [
    ...plain,
    [`${field}.x[1]`, { x: [1, Number.NaN] }],
    [`${field}.x[0]`, { x: [undefined] }],
    [`${field}.x[1].y`, { x: [0, { y: () => 1 }] }],
    [`${field}.toJSON`, { toJSON: () => 'pretends' }],
  ]
}

/** Circular or nested too deep. The named field is far down. */
function bottomless(): unknown[] {
  const cycle: Record<string, unknown> = {}
  cycle.self = cycle
  const list: unknown[] = []
  list.push([list])
  let deep: unknown = 'bottom'
  for (let i = 0; i <= maxNesting; i++) deep = i % 2 ? [deep] : { deep }
  return [cycle, { list }, { deep }]
}

export const refusalCases: readonly ContractCase[] = [
  it('refuses an append without messages, or with something that is not a list', async ({ store }) => {
    await refuses(
      store,
      [
        ['messages', []],
        ['messages', null],
        ['messages', undefined],
        ['messages', 'text'],
        ['messages', { 0: say('x'), length: 1 }],
        ['messages[0]', ['text']],
        ['messages[0]', [null]],
        ['messages[1]', [say('good'), [say('nested')]]],
        ['messages[1]', [say('good'), new Date(0)]],
      ],
      (place, messages) => store.append(place.branch, place.ids[2], messages),
    )
  }),
  it('refuses a save without items and names the invalid item (S3-41)', async ({ store }) => {
    const item = (message: unknown, parent: unknown = null) => ({ message, parent })
    await refuses(
      store,
      [
        [/^items$/, []],
        [/^items$/, null],
        [/^items\[1\]/, [item(say('good')), null]],
        [/^items\[1\].*role$/, [item(say('good')), item({ role: 'stranger', content: 'x' })]],
        [
          /^items\[1\].*content\[0\]\.text$/,
          [item(say('good')), item({ role: 'user', content: [{ type: 'text' }] })],
        ],
        [/^items\[1\].*parent/, [item(say('good')), item(say('x'), 'not an id')]],
        [/^items\[1\].*parent/, [item(say('good')), item(say('x'), { item: '0' })]],
        [/^items\[1\].*parent/, [item(say('good')), item(say('x'), 0)]],
      ],
      (place, items) => store.save(place.conversation.id, items),
    )
  }),
  it('refuses unknown roles (S3-10)', async ({ store }) => {
    const roles = [
      'User',
      'human',
      'function',
      '',
      'toString',
      '__proto__',
      'user ',
      null,
      undefined,
      1,
      ['user'],
    ]
    await refuses(
      store,
      roles.map(role => ['messages[1].role', { role, content: 'x' }] as const),
      appendBad(store),
    )
  }),
  it('refuses content that is neither a string nor a list of blocks', async ({ store }) => {
    const wrong = [
      null,
      undefined,
      5,
      true,
      {},
      { type: 'text', text: 'x' },
      new String('x'),
      new Uint8Array(1),
    ]
    await refuses(
      store,
      wrong.map(blocks => ['messages[1].content', { role: 'user', content: blocks }] as const),
      appendBad(store),
    )
  }),
  it('refuses blocks that are not objects with a type', async ({ store }) => {
    const at = 'messages[1].content[0]'
    await refuses(
      store,
      [
        [at, null],
        [at, undefined],
        [at, 'text'],
        [at, 7],
        [at, []],
        [at, new Custom()],
        [at, new Date(0)],
        [`${at}.type`, {}],
        [`${at}.type`, { type: '' }],
        [`${at}.type`, { type: 5 }],
        [`${at}.type`, { type: null, text: 'x' }],
      ],
      appendBlock(store),
    )
  }),
  it('refuses fields of the wrong type in a block and names the field (S3-85)', async ({ store }) => {
    const at = 'messages[1].content[0]'
    const tool = { type: 'tool_call', callId: 'c1', name: 'n', input: {} }
    const result = { type: 'tool_result', callId: 'c1', output: 'x' }
    const image = { type: 'image', mime: 'image/png', data: 'AAAA' }
    await refuses(
      store,
      [
        [`${at}.text`, { type: 'text' }],
        [`${at}.text`, { type: 'text', text: 7 }],
        [`${at}.text`, { type: 'text', text: null }],
        [`${at}.text`, { type: 'thinking', text: ['x'] }],
        [`${at}.mime`, { type: 'text', text: 'x', mime: 1 }],
        [`${at}.modality`, { type: 'text', text: 'x', modality: 'smell' }],
        [`${at}.modality`, { type: 'text', text: 'x', modality: 0 }],
        [`${at}.metadata`, { type: 'text', text: 'x', metadata: 'x' }],
        [`${at}.metadata`, { type: 'text', text: 'x', metadata: [] }],
        [`${at}.metadata`, { type: 'text', text: 'x', metadata: null }],
        [`${at}.callId`, { ...tool, callId: undefined }],
        [`${at}.callId`, { ...tool, callId: 1 }],
        [`${at}.name`, { ...tool, name: undefined }],
        [`${at}.input`, { type: 'tool_call', callId: 'c1', name: 'n' }],
        [`${at}.callId`, { type: 'tool_result', output: 'x' }],
        [`${at}.name`, { ...result, name: 5 }],
        [`${at}.output`, { type: 'tool_result', callId: 'c1' }],
        [`${at}.isError`, { ...result, isError: 'yes' }],
        [`${at}.isError`, { ...result, isError: 1 }],
        [`${at}.mime`, { type: 'image', data: 'AAAA' }],
        [`${at}.data`, { ...image, data: 5 }],
        [`${at}.data`, { ...image, data: [1, 2] }],
        [`${at}.url`, { type: 'video', mime: 'video/mp4', url: {} }],
        [`${at}.name`, { ...image, name: 5 }],
        [at, { type: 'file', mime: 'text/plain' }],
      ],
      appendBlock(store),
    )
  }),
  it('refuses values in a block that JSON would drop or change: NaN, functions, dates, instances (R13)', async ({
    store,
  }) => {
    await refuses(
      store,
      notJson('messages[1].content[0].input').map(([field, input]) => {
        return [field, { type: 'tool_call', callId: 'c', name: 'n', input }] as const
      }),
      appendBlock(store),
    )
    await refuses(
      store,
      notJson('messages[1].content[0].other').map(
        ([field, other]) => [field, { type: 'odd', other }] as const,
      ),
      appendBlock(store),
    )
  }),
  it('refuses such values in the metadata of a message', async ({ store }) => {
    const wrong = [null, [], 'x', 1, new Custom(), new Map()].map(
      meta => ['messages[1].metadata', meta] as const,
    )
    await refuses(store, [...wrong, ...notJson('messages[1].metadata')], (place, meta) =>
      store.append(place.branch, place.ids[2], [say('good'), { ...say('bad'), metadata: meta }]),
    )
  }),
  it('refuses circular and too deep nesting without a stack overflow (R11)', async ({ store }) => {
    const at = /^messages\[1\]\./
    await refuses(
      store,
      bottomless().map(meta => [at, { ...say('bad'), metadata: meta }] as const),
      appendBad(store),
    )
    await refuses(
      store,
      bottomless().map(output => [at, { type: 'tool_result', callId: 'c', output }] as const),
      appendBlock(store),
    )
  }),
  it('refuses times that are not dates from 1970 to 9999 (R13)', async ({ store }) => {
    const times = [
      new Date(Number.NaN),
      new Date(-1),
      new Date(253_402_300_800_000),
      new Date(8.64e15),
      0,
      '2026-01-01T00:00:00Z',
      null,
      { getTime: () => 0 },
    ]
    await refuses(
      store,
      times.map(createdAt => ['messages[1].createdAt', { ...say('x'), createdAt }] as const),
      appendBad(store),
    )
  }),
  it('refuses invalid token counts', async ({ store }) => {
    const counts = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, '5', null]
    await refuses(
      store,
      counts.map(tokens => ['messages[1].tokens', { ...say('x'), tokens }] as const),
      appendBad(store),
    )
  }),
  it('refuses strings that are too long to be held twice, before it copies them (R11)', async ({ store }) => {
    // V8 repeats lazily: this is a small object until it is read.
    const huge = 'x'.repeat(longestString + 1)
    await refuses(
      store,
      [
        ['messages[1].content', { role: 'user', content: huge }],
        ['messages[1].content[0].text', { role: 'user', content: [{ type: 'text', text: huge }] }],
        [
          'messages[1].content[0].data',
          { role: 'user', content: [{ type: 'file', mime: 'x/y', data: huge }] },
        ],
        [
          'messages[1].content[0].output',
          { role: 'tool', content: [{ type: 'tool_result', callId: 'c', output: huge }] },
        ],
        ['messages[1].content[0].a.b[0]', { role: 'user', content: [{ type: 'odd', a: { b: [huge] } }] }],
        ['messages[1].metadata.raw', { ...say('x'), metadata: { raw: huge } }],
      ],
      appendBad(store),
    )
  }),
]
