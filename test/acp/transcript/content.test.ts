import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blockFromContent, contentFromBlock } from '../../../src/acp/transcript/content.ts'
import { asBlock, type Block } from '../../../src/core/block.ts'
import { prepareMessages } from '../../../src/core/prepare.ts'
import { anyContent } from './any-update.ts'

describe('content of the protocol', () => {
  it('is restored exactly, whatever the schema allows', () => {
    fc.assert(
      fc.property(anyContent, content => {
        const block = blockFromContent(content)
        prepareMessages([{ role: 'user', content: [block] }])
        expect(contentFromBlock(block)).toEqual(content)
      }),
      { numRuns: 200 },
    )
  })

  it('is restored with half of a surrogate pair in it, which bytes cannot hold', () => {
    const content = { type: 'resource', resource: { uri: 'file:///a', text: 'a\ud800b' } }
    expect(contentFromBlock(blockFromContent(content))).toEqual(content)
  })

  it('is restored if its type is unknown', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (fields, type) => {
        const content = JSON.parse(JSON.stringify({ ...fields, type }))
        expect(contentFromBlock(blockFromContent(content))).toEqual(content)
      }),
    )
    const more = { future: [1], fields: {}, as: 'x' }
    fc.assert(
      fc.property(anyContent, known => {
        const content = { ...known, ...more }
        expect(contentFromBlock(blockFromContent(content))).toEqual(content)
      }),
    )
    for (const broken of [{ type: 'text' }, { type: 'image', data: 1 }, { type: 'resource', resource: {} }])
      expect(contentFromBlock(blockFromContent(broken))).toEqual(broken)
  })

  it.each<readonly [object, Block]>([
    [
      { type: 'text', text: 'hi' },
      { type: 'text', text: 'hi' },
    ],
    [
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'image', mime: 'image/png', data: 'AAAA' },
    ],
    [
      { type: 'resource_link', uri: 'file:///a/b.ts', name: 'b.ts' },
      {
        type: 'file',
        mime: 'application/octet-stream',
        url: 'file:///a/b.ts',
        name: 'b.ts',
        metadata: { acp: { as: 'resource_link', fields: {} } },
      },
    ],
    [
      { type: 'resource', resource: { uri: 'file:///a/b.ts', text: 'let b' } },
      {
        type: 'file',
        mime: 'text/plain',
        data: Buffer.from('let b').toString('base64'),
        name: 'b.ts',
        metadata: { inline: true, acp: { as: 'text', about: { uri: 'file:///a/b.ts' }, fields: {} } },
      },
    ],
  ])('%o becomes a block of ours', (content, block) => {
    expect(blockFromContent(content)).toEqual(block)
  })
})

describe('a block from elsewhere', () => {
  it.each<readonly [Block, object | null]>([
    [
      { type: 'image', mime: 'image/png', data: 'AAAA' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    ],
    [
      { type: 'image', mime: 'image/png', url: 'https://a/b.png' },
      { type: 'resource_link', uri: 'https://a/b.png', name: 'image.png', mimeType: 'image/png' },
    ],
    [
      { type: 'file', mime: 'text/csv', data: Buffer.from('a,b').toString('base64'), name: 'a b.csv' },
      { type: 'resource', resource: { uri: 'attachment:///a%20b.csv', mimeType: 'text/csv', text: 'a,b' } },
    ],
    [
      { type: 'file', mime: 'text/plain', data: '/w==' },
      {
        type: 'resource',
        resource: { uri: 'attachment:///file.plain', mimeType: 'text/plain', blob: '/w==' },
      },
    ],
    [
      { type: 'video', mime: 'video/mp4', data: 'AAAA' },
      { type: 'resource', resource: { uri: 'attachment:///video.mp4', mimeType: 'video/mp4', blob: 'AAAA' } },
    ],
    [{ type: 'thinking', text: 'hm' }, null],
    [{ type: 'tool_call', callId: 'c', name: 'n', input: {} }, null],
    [asBlock({ type: 'provider_file', reference: 1 }), null],
  ])('%o becomes content if the protocol has a type for it', (block, content) => {
    expect(contentFromBlock(block)).toEqual(content)
  })
})
