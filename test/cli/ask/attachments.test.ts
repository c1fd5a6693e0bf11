import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { attachFile, attachmentBlock } from '../../../src/cli/attach/attach-file.ts'

describe('an attached file', () => {
  it('gets its type from its bytes, not from its name', () => {
    expect(attachmentBlock('x.txt', Buffer.from('%PDF-1.7'))).toMatchObject({
      type: 'file',
      mime: 'application/pdf',
    })
    expect(attachmentBlock('x.png', Buffer.from('text'))).toMatchObject({ type: 'file', mime: 'text/plain' })
    expect(attachmentBlock('x', Buffer.from('GIF89a..'))).toMatchObject({ type: 'image', mime: 'image/gif' })
    expect(attachmentBlock('x', Buffer.from('RIFF1234WEBPVP8'))).toMatchObject({
      type: 'image',
      mime: 'image/webp',
    })
    expect(() => attachmentBlock('x', Buffer.from([0xff, 0xfe, 0x00]))).toThrow('neither text')
  })

  it('is refused with a reason if it cannot be sent', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skein-attach-'))
    writeFileSync(join(folder, 'x.bin'), Buffer.from([0, 1, 2]))
    writeFileSync(join(folder, 'long.txt'), 'x'.repeat(2_000_001))
    writeFileSync(join(folder, 'empty.txt'), '')
    const refused = [
      ['none.txt', 'there is no file none.txt'],
      ['.', '. is a directory'],
      ['x.bin', 'x.bin is neither text nor a picture, a sound, a video or a PDF'],
      ['long.txt', 'long.txt has 2 MB, at most 2 MB can be sent'],
      ['empty.txt', 'empty.txt is empty'],
    ] as const
    for (const [file, words] of refused)
      await expect(attachFile(file, { cwd: folder, env: {} })).rejects.toThrow(words)
    rmSync(folder, { recursive: true })
  })
})
