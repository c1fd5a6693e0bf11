import { statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isMedia } from '../../core/block.ts'
import { type Given, hasOption, type Run, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { bytes, plural } from '../output/number.ts'
import { withStore } from '../store/with-store.ts'
import { type Exported, readExported } from './exported.ts'
import { writeNew } from './new-file.ts'
import { slugOf } from './slug.ts'

/** Writes a conversation as Markdown or as a page, or conversations in the native format, to a file or to stdout. */
export const exportCommand: Run = async (given, world) => {
  if (isNative(given)) {
    const { exportNative } = await import('./export-native.ts')
    return withStore(world, store => exportNative(given, world, store))
  }
  const html = hasOption(given, 'html')
  if (given.arguments.length !== 1) {
    throw new UsageError('one conversation is needed', 'One at a time, or in the native format: --native')
  }
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

/** Whether the native format is asked for: by its flag, or by the name of the file. */
function isNative(given: Given): boolean {
  return hasOption(given, 'native') || /\.jsonl$/i.test(textOption(given, 'output') ?? '')
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
