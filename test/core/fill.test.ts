import { expect, it } from 'vitest'
import type { Block } from '../../src/core/block.ts'
import { blockOfBlob, fillBlobs } from '../../src/core/fill.ts'
import type { NewMessage } from '../../src/core/message.ts'
import { openStore } from '../../src/index.ts'

const long = (word: string) => `${word} ✨ `.repeat(4_000)
const bytes = Buffer.from(Uint8Array.from({ length: 40_000 }, (_, i) => i % 251)).toString('base64')

const cases: readonly (readonly [string, NewMessage['blocks']])[] = [
  ['a plain string', long('plain')],
  ['texts of two blocks', [{ type: 'text', text: long('a') } as Block, { type: 'text', text: long('b') }]],
  ['an image', [{ type: 'text', text: 'look' } as Block, { type: 'image', mime: 'image/png', data: bytes }]],
  [
    'a result with odd keys',
    [
      {
        type: 'tool_result',
        callId: '1',
        output: { 'a/b~c': [1, { $blob: long('x') }], short: 'y' },
      } as Block,
    ],
  ],
]

it.each(cases)('what a preview has left out is put back: %s', async (_, blocks) => {
  const store = await openStore(':memory:')
  const { branch } = await store.create()
  const { head } = await store.append(branch, null, [{ role: 'user', blocks }])
  const [whole] = await store.getMessages([head])
  const [preview] = await store.getMessages([head], { blobs: 'preview' })
  expect(preview?.blocks).not.toEqual(whole?.blocks)
  const loaded = new Map<string, Uint8Array>()
  for (const ref of preview!.blobs) {
    expect(blockOfBlob(preview!, ref)).not.toBe(null)
    loaded.set(ref.hash, await store.readBlob(ref.hash))
  }
  expect(fillBlobs(preview!, loaded)).toEqual(whole)
  expect(fillBlobs(preview!, new Map())).toEqual(preview)
  await store.close()
})
