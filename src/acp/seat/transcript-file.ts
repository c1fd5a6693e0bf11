import {
  closeSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BranchRef } from '../../core/branch.ts'
import type { Holder } from '../../core/errors.ts'
import { sha256Hex } from '../../core/hash.ts'
import type { MessageId } from '../../core/ids.ts'
import { itemsOf } from '../../core/pages.ts'
import type { MessageReader } from '../../core/ports.ts'
import { isDead, thisHolder } from '../../system/holder.ts'
import type { TranscriptFile } from '../memory/tell-history.ts'
import { transcriptText } from '../memory/transcript-text.ts'

/** Files with whole conversations, in a folder that only this user can read. The path of a file depends on
 *  the branch alone: a session that is resumed in another process finds it in the same place. */
export interface TranscriptFolder {
  /** The file of a branch. */
  of(branch: BranchRef): SeatTranscript
}

/** The transcript of one branch. */
export interface SeatTranscript extends TranscriptFile {
  /** Removes the file, unless another process uses it. */
  remove(): Promise<void>
}

export interface TranscriptFolderOptions {
  readonly store: Pick<MessageReader, 'listPath'>
  /** The working directory of the agent. */
  readonly directory: string
  /** Default: a folder of this user below the system's folder for temporary files. */
  readonly folder?: string
}

/** Marks that this process has made. */
let marks = 0

/** Opens the folder, and removes the files of processes that have died. */
export function openTranscripts({ store, directory, folder }: TranscriptFolderOptions): TranscriptFolder {
  const opened = openFolder(folder)
  // Reported where a file is written.
  opened.catch(() => undefined)

  return {
    of({ conversationId, name }) {
      const file = `${conversationId}-${sha256Hex(name).slice(0, 8)}.md`
      const mark = `${file}.held-${process.pid}-${++marks}`
      let isHeld = false

      async function write(head: MessageId): Promise<string> {
        const place = await opened
        const [path, unfinished] = [join(place, file), join(place, `${mark}-new`)]
        isHeld = true
        writeFileSync(join(place, mark), JSON.stringify(thisHolder()), { mode: 0o600 })
        rmSync(unfinished, { force: true })
        const to = openSync(unfinished, 'wx', 0o600)
        try {
          const messages = itemsOf(page => store.listPath(head, page))
          for await (const piece of transcriptText(messages, directory)) writeSync(to, piece)
        } finally {
          closeSync(to)
        }
        renameSync(unfinished, path)
        return path
      }

      return {
        // Without a file, the agent is told the same, and not where the rest is.
        write: head => write(head).catch(() => null),
        async remove() {
          if (!isHeld) return
          isHeld = false
          const place = await opened
          rmSync(join(place, mark), { force: true })
          removeUnheld(place, [file])
        },
      }
    },
  }
}

/** Creates a private folder, or a new one if another user has a folder of this name. */
async function openFolder(given: string | undefined): Promise<string> {
  const wanted = given ?? join(tmpdir(), `skein-${process.getuid?.() ?? 'user'}`)
  mkdirSync(wanted, { recursive: true, mode: 0o700 })
  const found = lstatSync(wanted)
  const isOurs = process.getuid === undefined || found.uid === process.getuid()
  if (!found.isDirectory() || !isOurs || (found.mode & 0o077) !== 0) return mkdtempSync(`${wanted}-`)
  sweep(wanted)
  return wanted
}

/** Removes the marks of dead processes, and files without marks. */
function sweep(place: string): void {
  const names = readdirSync(place)
  for (const name of names.filter(isMark)) {
    const holder = holderIn(join(place, name))
    if (holder && isDead(holder)) rmSync(join(place, name), { force: true })
  }
  removeUnheld(
    place,
    names.filter(name => name.endsWith('.md') || name.endsWith('-new')),
  )
}

function removeUnheld(place: string, files: readonly string[]): void {
  const held = readdirSync(place).filter(isMark)
  for (const file of files) {
    const isHeld = held.some(mark => file === `${mark}-new` || mark.startsWith(`${file}.held-`))
    if (!isHeld) rmSync(join(place, file), { force: true })
  }
}

function isMark(name: string): boolean {
  return /\.held-\d+-\d+$/.test(name)
}

/** Null if the mark was removed meanwhile, or is being written. */
function holderIn(path: string): Holder | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Holder
  } catch {
    return null
  }
}
