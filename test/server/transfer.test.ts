import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { startService } from './harness.ts'
import { png, stock } from './stocked.ts'

it('moves all conversations from one service to another without loss', async () => {
  await using from = await startService()
  await using to = await startService()
  const { conversation, blob } = await stock(from.store)
  const lines = (await from.call('/export')).text
  expect(lines.startsWith('{"kind":"header"')).toBe(true)
  const headers = { 'content-type': 'application/x-ndjson' }
  const first = await to.call('/import', { method: 'POST', body: lines, headers })
  expect(first.body).toMatchObject({ added: { conversation: 3, message: 7, blob: 1 }, bad: 0 })
  const again = await to.call('/import', { method: 'POST', body: lines, headers })
  expect(again.body).toMatchObject({ added: { message: 0 }, present: { message: 7 } })
  const own = async (service: typeof from) =>
    (await service.call(`/conversations/${conversation}`)).body.messages
  expect(await own(to)).toEqual(await own(from))
  expect((await to.fetch(`/blobs/${blob}`)).status).toBe(200)
  const one = (await from.call(`/conversations/${conversation}/export`)).text
  expect(one).toContain(conversation)
})

it('exports a conversation as Markdown and as a page, with one branch or all', async () => {
  await using service = await startService()
  const { conversation, message } = await stock(service.store)
  const fork = await service.store.createBranch(conversation, message, { name: 'side' })
  const hostile = 'Other \u001b[31m<script>alert(1)</script>'
  await service.store.append(fork, message, [{ role: 'assistant', content: hostile }])
  const read = async (query: string) => {
    const { status, text, headers } = await service.call(`/conversations/${conversation}/export?${query}`)
    expect(status).toBe(200)
    return { text, type: headers.get('content-type'), name: headers.get('content-disposition') }
  }
  const one = await read('format=markdown')
  expect([one.type, one.name]).toEqual([
    'text/markdown; charset=utf-8',
    `attachment; filename="${conversation}.md"`,
  ])
  expect(one.text).toMatch(/^# Harbour\n.*And now\?\n$/s)
  expect(one.text).not.toContain('Other')
  expect((await read('format=markdown&branch=side')).text).toMatch(/hello there.*Other ␛\[31m/s)
  expect((await read('format=markdown&all=true')).text).toMatch(/And now\?.*# Branch side.*Other/s)
  const page = await read('format=html')
  expect([page.type, page.name]).toEqual([
    'text/html; charset=utf-8',
    `attachment; filename="${conversation}.html"`,
  ])
  expect(page.text).toMatch(/^<!doctype html>.*And now\?.*&lt;script&gt;.*<\/html>\n$/s)
  for (const query of ['format=pdf', 'format=native&all=true', 'format=markdown&branch='])
    expect((await service.call(`/conversations/${conversation}/export?${query}`)).status).toBe(400)
  expect((await service.call(`/conversations/${conversation}/export?format=html&branch=none`)).status).toBe(
    404,
  )
})

it('streams the text of a long conversation to a slow reader without collecting it', async () => {
  await using service = await startService()
  const { conversation, branch } = await service.store.create()
  const messages = Array.from({ length: 4_000 }, (_, n) => ({
    role: n % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `${n} ${'x'.repeat(4_000)}`,
  }))
  await service.store.append(branch, null, messages)
  let reads = 0
  const { listPath } = service.store
  service.store.listPath = (...given) => {
    reads++
    return listPath.apply(service.store, given)
  }
  await using slow = await startService({ db: service.db, storeOf: async () => service.store } as never)
  for (const format of ['markdown', 'html']) {
    reads = 0
    const response = await slow.fetch(`/conversations/${conversation.id}/export?format=${format}`)
    const reader = response.body!.getReader()
    await reader.read()
    await new Promise(resolve => setImmediate(resolve))
    expect(reads).toBeLessThan(8)
    let size = 0
    for (let read = await reader.read(); !read.done; read = await reader.read()) size += read.value.length
    expect(size).toBeGreaterThan(16_000_000 - 1_000_000)
    expect(reads).toBeGreaterThanOrEqual(8)
  }
})

it('reports damaged lines, and refuses a record above the limit with 413', async () => {
  await using service = await startService({ limits: { bodyBytes: 2_000 } })
  const headers = { 'content-type': 'application/x-ndjson' }
  const header = '{"kind":"header","format":"skein","version":"1.0"}\n'
  const bad = await service.call('/import', { method: 'POST', body: `${header}not JSON\n`, headers })
  expect(bad.body.bad_lines[0]).toMatchObject({ line: 2 })
  const body = `${header}{"kind":"blob","data":"${'x'.repeat(5_000)}"}\n`
  const large = await service.call('/import', { method: 'POST', body, headers })
  expect(large.body).toMatchObject({ status: 413, limit: 2_000 })
  const many = header + '{"kind":"unknown"}\n'.repeat(1_000)
  expect((await service.call('/import', { method: 'POST', body: many, headers })).status).toBe(200)
})

it('serves blobs with ranges, for ever, and everything but plain images as a download', async () => {
  await using service = await startService()
  const { blob } = await stock(service.store)
  const image = await service.fetch(`/blobs/${blob}`)
  expect(Buffer.from(await image.arrayBuffer()).equals(png)).toBe(true)
  expect(Object.fromEntries(image.headers)).toMatchObject({
    'content-type': 'image/png',
    'content-disposition': 'inline',
    'cache-control': 'private, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining('sandbox'),
    etag: `"${blob}"`,
  })
  const range = async (text: string) => {
    const response = await service.fetch(`/blobs/${blob}`, { headers: { range: text } })
    const bytes = Buffer.from(await response.arrayBuffer())
    return [response.status, response.headers.get('content-range'), bytes.length]
  }
  const size = png.length
  expect(await range('bytes=0-7')).toEqual([206, `bytes 0-7/${size}`, 8])
  expect(await range('bytes=-5')).toEqual([206, `bytes ${size - 5}-${size - 1}/${size}`, 5])
  expect(await range(`bytes=10-`)).toEqual([206, `bytes 10-${size - 1}/${size}`, size - 10])
  expect((await range(`bytes=${size}-`)).slice(0, 2)).toEqual([416, `bytes */${size}`])
  const head = await service.fetch(`/blobs/${blob}`, { method: 'HEAD' })
  expect([head.headers.get('content-length'), await head.text()]).toEqual([String(size), ''])
  const cached = await service.fetch(`/blobs/${blob}`, { headers: { 'if-none-match': `"${blob}"` } })
  expect(cached.status).toBe(304)

  const svg = `<svg onload="alert(1)">${'x'.repeat(20_000)}</svg>`
  const { branch } = await service.store.create()
  await service.store.append(branch, null, [{ role: 'user', content: svg }])
  const download = await service.fetch(`/blobs/${createHash('sha256').update(svg).digest('hex')}`)
  expect(download.headers.get('content-type')).toBe('application/octet-stream')
  expect(download.headers.get('content-disposition')).toMatch(/^attachment/)
})

it('streams a long conversation to a slow reader without collecting it', async () => {
  await using service = await startService()
  const { conversation, branch } = await service.store.create()
  const messages = Array.from({ length: 2_000 }, (_, n) => ({
    role: n % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `${n} ${'x'.repeat(8_000)}`,
  }))
  await service.store.append(branch, null, messages)
  let reads = 0
  const { listPath } = service.store
  service.store.listPath = (...given) => {
    reads++
    return listPath.apply(service.store, given)
  }
  await using slow = await startService({ db: service.db, storeOf: async () => service.store } as never)
  const response = await slow.fetch(`/conversations/${conversation.id}`)
  const reader = response.body!.getReader()
  await reader.read()
  // 2,000 messages of 8 kB are 40 reads. Buffers of the two ends hold only a part.
  await expect.poll(() => reads).toBeGreaterThan(0)
  await new Promise(resolve => setImmediate(resolve))
  expect(reads).toBeLessThan(36)
  let rest = ''
  const decoder = new TextDecoder()
  for (let read = await reader.read(); !read.done; read = await reader.read())
    rest += decoder.decode(read.value, { stream: true })
  expect(rest.endsWith(']}')).toBe(true)
  expect(reads).toBe(40)
})
