import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { slugOf } from '../../../src/cli/transfer/slug.ts'
import { markdownToHtml } from '../../../src/formats/page/markdown-html.ts'
import { processorTimer } from '../../support/processor-time.ts'
import { home } from '../skein.ts'
import { driving, hostile, stocked, tell } from '../stock.ts'

const attack =
  '<script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) "\'><svg onload=1>'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })
const png = Buffer.from('89504e470d0a1a0a', 'hex').toString('base64')

async function storm(here: ReturnType<typeof home>) {
  return stocked(here, async store => {
    const told = await tell(
      store,
      {
        title: `Storm ${attack} ../../etc/passwd`,
        directory: here.cwd,
        model: 'anthropic/claude-sonnet-4-5',
      },
      `Why **does** it drop?\n\n${attack}`,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', text: 'let me see' },
          { type: 'text', text: `It reloads:\n\n\`\`\`ts\nconst a = 1 < 2\n\`\`\`\n\n${hostile}` },
          { type: 'tool_call', callId: '1', name: 'bash', input: { command: 'kubectl logs' } },
        ],
      },
      {
        role: 'tool_result',
        content: [
          { type: 'tool_result', callId: '1', name: 'bash', output: `exit 1 ${attack}`, isError: true },
          { type: 'image', mime: 'image/png', data: png },
          { type: 'image', mime: 'image/svg+xml', data: png },
          { type: 'image', mime: 'image/png', url: 'https://example.org/tracker.png' },
          { type: 'hologram', depth: 3 },
        ],
      },
    )
    await store.createBranch(told.conversation.id, told.ids[0]!, { name: 'poll' })
    const { head } = await store.getBranch({ conversationId: told.conversation.id, name: 'poll' })
    await store.append({ conversationId: told.conversation.id, name: 'poll' }, head, [
      { role: 'assistant', content: 'Poll instead.' },
    ])
    return told
  })
}

test('Markdown contains the path that would be continued, and all branches with --all', async () => {
  using here = home()
  const { conversation, ids } = await storm(here)
  const path = await here.skein(['export', conversation.id.slice(0, 6)])
  expect(path).toMatchObject({ code: 0, stderr: '' })
  expect(path.stdout).toContain(`## You (`)
  expect(path.stdout).toContain(`, ${ids[0]})`)
  expect(path.stdout).toContain('## sonnet-4.5 (')
  expect(path.stdout).toContain('**bash** kubectl logs')
  expect(path.stdout).not.toContain('Poll instead.')
  expect(path.stdout).not.toMatch(driving)
  const all = await here.skein(['conversation', 'export', conversation.id, '--all', '-o', 'all.md', '--json'])
  expect(JSON.parse(all.stdout)).toMatchObject({
    conversation: conversation.id,
    format: 'markdown',
    file: join(here.cwd, 'all.md'),
    messages: 4,
    branches: 2,
    images: 3,
  })
  const text = readFileSync(join(here.cwd, 'all.md'), 'utf8')
  expect(text).toContain(`# Branch poll (from ${ids[0]})`)
  expect(text).toContain('Poll instead.')
  const upTo = await here.skein(['export', ids[0]!, '-o', '-'])
  expect(upTo.stdout).not.toContain('It reloads')
})

test('a page contains every branch, runs only its own script, fetches nothing, and escapes all text', async () => {
  using here = home()
  const { conversation, ids } = await storm(here)
  const made = await here.skein(['export', conversation.id, '--html', '-o', 'storm.html'])
  expect(made).toMatchObject({ code: 0, stdout: '' })
  expect(made.stderr).toMatch(
    /^exported 4 messages, 2 branches, 3 images · storm\.html · \S+ kB · opens offline\n$/,
  )
  const html = readFileSync(join(here.cwd, 'storm.html'), 'utf8')
  const tags = new Set(Array.from(html.matchAll(/<([a-z][a-z0-9]*)/g), ([, name]) => name))
  for (const name of ['svg', 'iframe', 'object', 'link', 'base', 'form']) expect(tags).not.toContain(name)
  expect(html).not.toMatch(/<[^>]*\son\w+=/)
  expect(html).not.toMatch(/<[^>]*(href|src)="?(?!#|https?:|data:image\/png)[^">]/)
  expect(html.match(/<img /g)).toHaveLength(1)
  expect(html).not.toMatch(/src="https?:/)
  const style = /<style>([\s\S]*?)<\/style>/.exec(html)![1]!
  const hash = createHash('sha256').update(style).digest('base64')
  const [script, ...others] = Array.from(
    html.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g),
    ([, text]) => text!,
  )
  expect(others).toEqual([])
  const scriptHash = createHash('sha256').update(script!).digest('base64')
  expect(html).toContain(
    `default-src 'none'; style-src 'sha256-${hash}'; script-src 'sha256-${scriptHash}'; img-src data:`,
  )
  expect(html).not.toContain(' style="')
  expect(html).not.toMatch(driving)
  expect(html).toContain('Poll instead.')
  expect(html).toContain('From here also: <a href="#m-')
  expect(html).toContain(`id="m-${ids[2]}"`)
  expect(html).toContain('<span class="k-keyword">const</span> a = <span class="k-number">1</span> &lt; ')
  expect(html).toContain('<nav class="ways">Branches: <a href="#m-')
  expect(html).toContain('>poll: Poll instead.</a></nav>')
})

test('a page shows a call and its result together in one line, and all its links resolve', async () => {
  using here = home()
  const { conversation, ids } = await stocked(here, async store => {
    const told = await tell(store, { title: 'Tools' }, 'look', {
      role: 'assistant',
      content: [
        { type: 'tool_call', callId: 'a', name: 'bash', input: { command: 'npm test' } },
        { type: 'tool_call', callId: 'b', name: 'read', input: { path: 'a.ts' } },
        { type: 'tool_call', callId: 'c', name: 'lost', input: {} },
      ],
    })
    const { branch } = told
    const { ids: results } = await store.append(branch, branch.head, [
      { role: 'tool_result', content: [{ type: 'tool_result', callId: 'a', output: 'x\ny\nz' }] },
      {
        role: 'tool_result',
        content: [{ type: 'tool_result', callId: 'b', output: `no\n${attack}`, isError: true }],
      },
      {
        role: 'user',
        content: [
          { type: 'file', mime: 'text/plain', name: 'n.txt', data: Buffer.from(attack).toString('base64') },
        ],
      },
    ])
    // Another line forks from a result that is shown with its call.
    await store.createBranch(told.conversation.id, results[1]!, { name: 'other' })
    await store.append({ conversationId: told.conversation.id, name: 'other' }, results[1]!, [
      { role: 'assistant', content: 'elsewhere' },
    ])
    return { ...told, ids: results }
  })
  expect((await here.skein(['export', conversation.id, '--html', '-o', 'page.html'])).code).toBe(0)
  const html = readFileSync(join(here.cwd, 'page.html'), 'utf8')
  expect(html).toContain(`<details class="tool" id="m-${ids[0]}"><summary>bash npm test · 3 lines</summary>`)
  expect(html).toMatch(new RegExp(`<details class="failed" id="m-${ids[1]}"><summary>✗ read a\\.ts · `))
  expect(html).toContain('<details class="tool"><summary>lost</summary>')
  expect(html).toContain(`<summary>n.txt · ${Buffer.byteLength(attack)} B</summary>`)
  expect(html).not.toContain('<b>Tool</b>')
  const anchors = new Set(Array.from(html.matchAll(/ id="(m-[a-z2-7]+)"/g), ([, id]) => id))
  const links = Array.from(html.matchAll(/ href="#([^"]+)"/g), ([, id]) => id)
  expect(anchors.size).toBe(6)
  expect(links.filter(link => !anchors.has(link))).toEqual([])
})

test('a page has the usage of each turn, and a map of the prompts', async () => {
  using here = home()
  await here.skein(['the first prompt'])
  await here.skein(['the second prompt'])
  const { stdout: html } = await here.skein(['export', '--html'])
  const map = /<nav class="map"[\s\S]*<\/nav>/.exec(html)![0]
  expect(map.match(/<li><a href="#m-[a-z2-7]{32}">/g)).toHaveLength(2)
  expect(map.indexOf('the first prompt')).toBeLessThan(map.lastIndexOf('the second prompt'))
  expect(html.match(/<span>\d+ in, \d+ out<\/span>/g)).toHaveLength(2)
})

test('an existing file is kept unless forced, and no title leads out of a folder', async () => {
  using here = home()
  const { conversation } = await storm(here)
  const target = join(here.cwd, 'kept.md')
  writeFileSync(target, 'mine')
  const refused = await here.skein(['export', conversation.id, '-o', 'kept.md'])
  expect(refused.code).toBe(2)
  expect(refused.stderr).toMatch(/^skein: .*kept\.md already exists\. Overwrite it with --force\n$/)
  expect(readFileSync(target, 'utf8')).toBe('mine')
  symlinkSync(target, join(here.cwd, 'link.md'))
  expect((await here.skein(['export', conversation.id, '-o', 'link.md', '--force'])).code).toBe(0)
  expect(readFileSync(target, 'utf8')).toBe('mine')
  expect((await here.skein(['export', conversation.id, '-o', 'kept.md', '-f'])).code).toBe(0)
  expect(readFileSync(target, 'utf8')).toContain('# Storm')
  mkdirSync(join(here.cwd, 'out'))
  expect((await here.skein(['export', conversation.id, '--html', '-o', 'out'])).code).toBe(0)
  const [only, ...more] = readdirSync(join(here.cwd, 'out'))
  expect(more).toEqual([])
  expect(only).toMatch(/^storm-script-alert-1-[\w-]+\.html$/)
  expect(readdirSync(here.cwd).sort()).toEqual(['kept.md', 'link.md', 'out'])
  for (const line of [
    ['export', conversation.id, conversation.id],
    ['export', conversation.id, '--html', '--all'],
    ['export', conversation.id, '--json'],
    ['export', conversation.id, '-o', 'nowhere/x.md'],
  ]) {
    expect({ line, code: (await here.skein(line)).code }).toEqual({ line, code: 2 })
  }
  expect((await here.skein(['export', 'zzzzzz'])).code).toBe(3)
})

test('export without an id writes the conversation that skein would continue', async () => {
  using here = home()
  const none = await here.skein(['export'])
  expect(none).toMatchObject({ code: 2, stdout: '' })
  expect(none.stderr).toBe(
    'skein: export needs an id here. skein ls --all lists them. Everything: --all --native\n',
  )
  await here.skein(['the first one'])
  await here.skein(['-n', 'the second one'])
  expect((await here.skein(['export'])).stdout).toContain('# the second one')
  expect((await here.skein(['export', '--html'])).stdout).toContain('<title>the second one')
  const native = (await here.skein(['export', '--native'])).stdout
  expect(native).toContain('the second one')
  expect(native).not.toContain('the first one')
})

test('file names consist of letters, digits and dashes', () => {
  expect(slugOf('../../etc/passwd')).toBe('etc-passwd')
  expect(slugOf('-rf ~ \u0000.bashrc')).toBe('rf-bashrc')
  expect(slugOf('…')).toBe('conversation')
  expect(slugOf(null)).toBe('conversation')
  expect(slugOf('Überraschung 東京')).toBe('uberraschung-東京')
})

test('Markdown is rendered, and everything else is text', () => {
  expect(markdownToHtml('# A *b* `c<d`')).toBe('<h3>A <em>b</em> <code>c&lt;d</code></h3>')
  expect(markdownToHtml('- a\n  - b\n- c')).toBe('<ul><li>a\n<ul><li>b</li></ul></li>\n<li>c</li></ul>')
  expect(markdownToHtml('3. a\n4. b')).toBe('<ol start="3"><li>a</li>\n<li>b</li></ol>')
  expect(markdownToHtml('> q\n\np')).toBe('<blockquote><p>q</p></blockquote>\n<p>p</p>')
  expect(markdownToHtml('|a|b|\n|-|-|\n|1|<|')).toContain('<td>&lt;</td>')
  expect(markdownToHtml('[x](javascript:alert(1)) [y](https://a.b/?q="&r)')).toBe(
    '<p>[x](javascript:alert(1)) <a href="https://a.b/?q=&quot;&amp;r" title="https://a.b/?q=&quot;&amp;r" rel="noopener noreferrer nofollow">y</a></p>',
  )
  expect(markdownToHtml('See https://a.b/c.')).toContain('">https://a.b/c</a>.</p>')
  expect(markdownToHtml('|a|b|c|\n|:-:|-:|-|\n|1|2|3|')).toContain(
    '<td class="middle">1</td><td class="right">2</td><td>3</td>',
  )
  expect(markdownToHtml('```x" onload="1\nunclosed <b>')).not.toContain('<b>')
  for (const nasty of ['*', '[', '`', '~~', '> ', '- ', '|', '#', '\t', '[a](', 'https://']) {
    const took = processorTimer()
    markdownToHtml(nasty.repeat(20_000))
    expect({ nasty, quick: took() < 2_000 }).toEqual({ nasty, quick: true })
  }
})
