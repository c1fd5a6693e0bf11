import { statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isMedia } from '../../core/block.ts'
import type { ConversationReader, Lister, Resolved } from '../../core/ports.ts'
import { exportMarkdown } from '../../formats/page/export-markdown.ts'
import {
  type ExportedConversation,
  readExportedConversation,
} from '../../formats/page/exported-conversation.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { formatBytes, plural } from '../output/number.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { namedOrNewest } from '../target/newest-here.ts'
import { createNewFile } from './new-file.ts'
import { slugOf } from './slug.ts'

/** `skein export`: writes a conversation as Markdown or HTML, or conversations in the native format. */
export const exportCommand: CommandHandler = async (args, context) => {
  if (isNative(args)) {
    const { exportNative } = await import('./export-native.ts')
    return withStore(context, store => exportNative(args, context, store))
  }
  const html = hasOption(args, 'html')
  if (args.arguments.length > 1) {
    throw new UsageError(
      'Markdown and HTML hold one conversation',
      'One at a time, or several in the native format: --native',
    )
  }
  if (html && hasOption(args, 'all')) {
    throw new UsageError('--all is for Markdown', 'A page has all branches anyway')
  }
  return withStore(context, async store => {
    const resolved = await exportedTarget(store, args, context)
    const exported = await readExportedConversation(store, resolved)
    const file = fileOf(args, context, exported, html)
    if (file === null && context.json) {
      throw new UsageError('--json needs -o <file> here', 'The data: skein show --json')
    }
    const lines = html || hasOption(args, 'all') ? exported.lines : exported.lines.slice(0, 1)
    const { parts, images } = countImages(exported)
    const text = html
      ? (await import('../../formats/page/export-html.ts')).exportHtml({ ...exported, parts })
      : exportMarkdown({ ...exported, parts }, lines, text => context.out.style.safe(text))
    const size = await writeText(text, file, hasOption(args, 'force'), context)
    const counts: Counts = {
      messages: lines.reduce((sum, line) => sum + line.size, 0) - exported.unreadable,
      branches: lines.length,
      images: images(),
    }
    if (context.json) {
      const format = html ? 'html' : 'markdown'
      context.out.line(
        JSON.stringify({ conversation: resolved.conversation.id, format, file, ...counts, bytes: size }),
      )
    } else if (!context.quiet && file !== null) {
      receipt(context, file, counts, size, html)
    }
    const { unreadable } = exported
    if (unreadable > 0 && !context.quiet) {
      const count = plural(unreadable, 'message')
      context.err.line(
        `! ${count} cannot be read and ${unreadable === 1 ? 'is' : 'are'} left out. ${skeinCommand(context)} verify names them`,
      )
    }
    return exitCode.ok
  })
}

/** The named conversation. Default: what `skein` without arguments would continue. */
async function exportedTarget(
  store: ConversationReader & Lister,
  args: Args,
  context: CommandContext,
): Promise<Resolved> {
  const found = await namedOrNewest(args.arguments[0], store, context)
  if (found !== null) return found
  throw new UsageError('export needs an id here', 'skein ls --all lists them. Everything: --all --native')
}

/** Whether to use the native format: by flag, or by file extension. */
function isNative(args: Args): boolean {
  return hasOption(args, 'native') || /\.jsonl$/i.test(textOption(args, 'output') ?? '')
}

interface Counts {
  readonly messages: number
  readonly branches: number
  readonly images: number
}

/** Reads the parts, and counts their images. */
function countImages(exported: ExportedConversation): {
  readonly parts: ExportedConversation['parts']
  images(): number
} {
  let images = 0
  return {
    images: () => images,
    async *parts(line) {
      for await (const part of exported.parts(line)) {
        for (const { content } of part.messages)
          images += content.filter(block => isMedia(block) && block.type === 'image').length
        yield part
      }
    },
  }
}

/** Writes a text piece by piece, into a new file or to stdout, and returns its bytes. */
async function writeText(
  text: AsyncIterable<string>,
  file: string | null,
  force: boolean,
  { out }: CommandContext,
): Promise<number> {
  if (file === null) {
    let bytes = 0
    for await (const piece of text) {
      out.write(piece)
      bytes += Buffer.byteLength(piece)
      await out.drained()
    }
    return bytes
  }
  using made = createNewFile(file, force)
  for await (const piece of text) made.write(piece)
  made.finish()
  return made.bytes
}

function receipt(context: CommandContext, file: string, counts: Counts, size: number, html: boolean): void {
  const { style } = context.err
  const what = [
    plural(counts.messages, 'message'),
    ...(counts.branches > 1 ? [plural(counts.branches, 'branch', 'branches')] : []),
    ...(counts.images > 0 ? [plural(counts.images, 'image')] : []),
  ]
  const name = style.safe(dirname(file) === context.cwd ? basename(file) : file)
  const parts = [`exported ${what.join(', ')}`, name, formatBytes(size), ...(html ? ['opens offline'] : [])]
  context.err.line(parts.join(` ${style.symbols.dot} `))
}

/** The file to write; in a folder, and for HTML on a terminal, named after the title. Null: stdout. */
function fileOf(
  args: Args,
  context: CommandContext,
  { conversation }: ExportedConversation,
  html: boolean,
): string | null {
  const output = textOption(args, 'output')
  const name = `${slugOf(conversation.title)}-${conversation.id.slice(0, 8)}.${html ? 'html' : 'md'}`
  if (output === undefined) return html && context.out.isTerminal ? join(context.cwd, name) : null
  if (output === '-') return null
  const file = resolve(context.cwd, output)
  return /[/\\]$/.test(output) || statSync(file, { throwIfNoEntry: false })?.isDirectory()
    ? join(file, name)
    : file
}
