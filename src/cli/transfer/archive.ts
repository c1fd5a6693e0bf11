import { lstatSync, mkdirSync, realpathSync, rmSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import type { Config } from '../../config/config.ts'
import { configFolder } from '../../config/folder.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { Maintainer } from '../../core/maintainer.ts'
import type { RecordMover } from '../../core/record.ts'
import { encodeNative } from '../../formats/native/native-file.ts'
import { version } from '../../system/version.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { createNewFile } from './new-file.ts'

type ArchivedStore = Pick<Maintainer, 'sweep'> & Pick<RecordMover, 'readRecords'>

/** A store whose sweeps write expired conversations into the folder of `conversation.archive` before they
 *  move them to the trash. Without the setting, the store itself. Throws UsageError if the folder cannot be
 *  used. */
export function withArchive<S extends ArchivedStore>(
  store: S,
  config: Config,
  context: Pick<CommandContext, 'cwd' | 'env' | 'now'>,
  tenant: string | null = null,
): S {
  const top = archiveFolder(config, context)
  if (top === null) return store
  const folder = tenant === null ? top : join(top, tenantFolder(tenant))
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const archive = (id: ConversationId) => archiveOne(store, id, folder, context.now())
  return { ...store, sweep: options => store.sweep({ beforeTrash: archive, ...options }) }
}

/** Creates the folder. The file of a project, which may come from elsewhere, cannot name one outside of the
 *  project. */
function archiveFolder(config: Config, { cwd, env }: Pick<CommandContext, 'cwd' | 'env'>): string | null {
  const { archive } = config.conversation
  if (archive === null) return null
  const source = config.sources['conversation.archive']
  const base = source?.kind === 'file' ? dirname(source.file) : cwd
  const folder = resolve(base, archive)
  const isProjects = source?.kind === 'file' && base !== configFolder(env)
  if (isProjects && isOutside(base, folder)) throw outside(folder, base)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new UsageError(`conversation.archive: ${folder} cannot be created`, (error as Error).message)
  }
  // A link inside the project may lead out of it.
  if (isProjects && isOutside(realpathSync(base), realpathSync(folder))) throw outside(folder, base)
  return folder
}

function isOutside(base: string, folder: string): boolean {
  const path = relative(base, folder)
  return path === '..' || path.startsWith('../') || isAbsolute(path)
}

function outside(folder: string, base: string): UsageError {
  return new UsageError(
    `conversation.archive: ${folder} is outside of ${base}`,
    'Set it in your own skein.yaml, or as SKEIN_ARCHIVE',
  )
}

/** A name that is one folder, whatever the tenant is called. */
function tenantFolder(tenant: string): string {
  return `tenant-${encodeURIComponent(tenant).replaceAll('.', '%2E')}`
}

/** Writes a conversation to its file, completely or not at all. A file of an earlier sweep is replaced. */
async function archiveOne(
  store: Pick<RecordMover, 'readRecords'>,
  id: ConversationId,
  folder: string,
  now: number,
): Promise<void> {
  const file = join(folder, `${id}.jsonl`)
  // Of an earlier process with the same number, which was killed.
  const unfinished = `${file}.${process.pid}.unfinished`
  if (lstatSync(unfinished, { throwIfNoEntry: false })) rmSync(unfinished)
  using made = createNewFile(file, true)
  const options = { writtenAt: new Date(now), by: `skein ${version()}` }
  for await (const line of encodeNative(store, [id], options)) made.write(line)
  made.finish()
}
