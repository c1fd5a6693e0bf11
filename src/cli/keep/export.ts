import { linkSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isMedia } from '../../core/block.ts'
import { type Given, hasOption, type Run, textOption } from '../command.ts'
import { exit } from '../exit.ts'
import { withStore } from '../look/look.ts'
import { bytes, plural } from '../terminal/number.ts'
import { UsageError } from '../usage-error.ts'
import type { World } from '../world.ts'
import { type Exported, readExported } from './exported.ts'

/** Writes a conversation as Markdown or as a page, to a file or to stdout. */
export const exportCommand: Run = (given, world) => {
  const html = hasOption(given, 'html')
  if (html && hasOption(given, 'all')) {
    throw new UsageError('--all is for Markdown', 'A page has all branches anyway')
  }
  return withStore(world, async store => {
    const resolved = await store.resolve(given.arguments[0]!)
    const exported = await readExported(store, resolved)
    const file = fileOf(given, world, exported, html)
    if (file === null && world.json) {
      throw new UsageError('--json needs -o <file> here', 'The data: skein show --json')
    }
    const text = html
      ? (await import('./export-html.ts')).toHtml(exported)
      : world.out.style.safe(
          (await import('./export-markdown.ts')).toMarkdown(exported, hasOption(given, 'all')),
        )
    if (file === null) world.out.write(text)
    else writeNew(file, text, hasOption(given, 'force'))
    const path = html || hasOption(given, 'all')
    const counts = countsOf(path ? exported : { ...exported, lines: exported.lines.slice(0, 1) })
    if (world.json) {
      const format = html ? 'html' : 'markdown'
      const size = Buffer.byteLength(text)
      world.out.line(
        JSON.stringify({ conversation: resolved.conversation.id, format, file, ...counts, bytes: size }),
      )
    } else if (!world.quiet && file !== null) {
      receipt(world, file, counts, Buffer.byteLength(text), html)
    }
    if (exported.unreadable.length > 0 && !world.quiet) {
      const count = plural(exported.unreadable.length, 'message')
      world.err.line(
        `! ${count} cannot be read and ${exported.unreadable.length === 1 ? 'is' : 'are'} left out. skein verify names them`,
      )
    }
    return exit.ok
  })
}

interface Counts {
  readonly messages: number
  readonly branches: number
  readonly images: number
}

function countsOf({ lines }: Pick<Exported, 'lines'>): Counts {
  const messages = lines.flatMap(line => line.messages)
  return {
    messages: messages.length,
    branches: lines.length,
    images: messages.flatMap(({ blocks }) => blocks.filter(block => isMedia(block) && block.type === 'image'))
      .length,
  }
}

function receipt(world: World, file: string, counts: Counts, size: number, html: boolean): void {
  const { style } = world.err
  const what = [
    plural(counts.messages, 'message'),
    ...(counts.branches > 1 ? [plural(counts.branches, 'branch', 'branches')] : []),
    ...(counts.images > 0 ? [plural(counts.images, 'image')] : []),
  ]
  const name = style.safe(dirname(file) === world.cwd ? basename(file) : file)
  const parts = [`exported ${what.join(', ')}`, name, bytes(size), ...(html ? ['opens offline'] : [])]
  world.err.line(parts.join(` ${style.symbols.dot} `))
}

/** The file that is meant: in a folder, and for a page on a terminal, its name is made from the title. Null: stdout. */
function fileOf(given: Given, world: World, { conversation }: Exported, html: boolean): string | null {
  const output = textOption(given, 'output')
  const name = `${slugOf(conversation.title)}-${conversation.id.slice(0, 8)}.${html ? 'html' : 'md'}`
  if (output === undefined) return html && world.out.isTerminal ? join(world.cwd, name) : null
  if (output === '-') return null
  const file = resolve(world.cwd, output)
  return /[/\\]$/.test(output) || statSync(file, { throwIfNoEntry: false })?.isDirectory()
    ? join(file, name)
    : file
}

/** Letters, digits and dashes: a title cannot lead out of a folder, hide a file or name a flag. */
export function slugOf(title: string | null): string {
  const words =
    (title ?? '')
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  const slug = [...words.join('-')].slice(0, 60).join('').replace(/-+$/, '')
  return slug || 'conversation'
}

/** Writes it whole or not at all: to a file beside, which then gets the name. What is there stays, unless forced. */
function writeNew(file: string, text: string, force: boolean): void {
  const unfinished = `${file}.${process.pid}.unfinished`
  try {
    writeFileSync(unfinished, text, { flag: 'wx' })
    if (force) renameSync(unfinished, file)
    else linkSync(unfinished, file)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : ''
    if (code === 'EEXIST') throw new UsageError(`${file} is there already`, 'To write over it: --force')
    if (code === 'ENOENT') throw new UsageError(`there is no folder ${dirname(file)}`, 'Make it first')
    throw error
  } finally {
    rmSync(unfinished, { force: true })
  }
}
