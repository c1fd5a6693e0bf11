import { isOpenDatabase } from '../../system/open-database.ts'
import { choiceField, optionalText, ownTool, textField, wholeField } from '../tools/own-tool.ts'
import type { Tools } from '../tools/tool.ts'
import { type CheckedPaths, readApproval } from './checked-paths.ts'
import { files as fileSystem, textOfBytes } from './local-workspace.ts'
import { nameTest, type ProjectFile, projectFiles } from './project-files.ts'
import { isWithin } from './project-path.ts'
import type { Workspace } from './workspace.ts'

/** The largest file that is searched. */
const mostBytes = 2 * 1024 * 1024

/** The longest part of a line that is shown. */
const mostColumns = 300

const folder = /* @__PURE__ */ optionalText({
  min: 1,
  about: 'the directory to look in; default: the project',
})

/** Tools that find files by name and by content. They leave out what `.gitignore` leaves out. */
export function searchTools({ directories }: Workspace, paths: CheckedPaths): Tools {
  const [working] = directories
  const rootOf = (directory: string) => directories.find(one => isWithin(one, directory)) ?? directory
  const approval = async (callId: string, written = working) =>
    readApproval('search', await paths.look(callId, written))
  return {
    find_files: ownTool({
      description:
        'Lists files of the project by name, without those that .gitignore leaves out. The pattern is a part of the name, or has * ** ? {a,b}: *.ts, src/**/*.test.ts.',
      input: {
        pattern: textField({ min: 1, about: '* for all files' }),
        path: folder,
        limit: wholeField(200, { min: 1, max: 2_000 }),
      },
      repeatable: true,
      readOnly: true,
      kind: 'search',
      needsApproval: ({ path }, { callId }) => approval(callId, path),
      async run({ pattern, path = working, limit }, { callId, signal }) {
        const { path: directory } = await paths.use(callId, path)
        const matches = nameTest(pattern)
        const found: string[] = []
        let more = 0
        for await (const { name } of projectFiles(directory, rootOf(directory), signal)) {
          if (!matches(name)) continue
          if (found.length < limit) found.push(name)
          else more++
        }
        if (found.length === 0) return `no file matches ${pattern}`
        return [...found, ...(more > 0 ? [`[${more} more files]`] : [])].join('\n')
      },
    }),
    search_files: ownTool({
      description:
        'Finds a text in the files of the project, without those that .gitignore leaves out, and shows the lines with their numbers. The text is plain, not a pattern.',
      input: {
        text: textField({ min: 1 }),
        path: folder,
        files: optionalText({ min: 1, about: 'only files whose names match: *.ts' }),
        case: choiceField('sensitive', 'ignored'),
        limit: wholeField(100, { min: 1, max: 1_000, about: 'how many lines' }),
      },
      repeatable: true,
      readOnly: true,
      kind: 'search',
      needsApproval: ({ path }, { callId }) => approval(callId, path),
      async run({ text, path = working, files, case: letters, limit }, { callId, signal }) {
        const { path: directory } = await paths.use(callId, path)
        const matches = files === undefined ? () => true : nameTest(files)
        const fold = (line: string) => (letters === 'ignored' ? line.toLowerCase() : line)
        const wanted = fold(text)
        const lines: string[] = []
        const left = { matches: 0, secret: 0 }
        for await (const file of projectFiles(directory, rootOf(directory), signal)) {
          if (!matches(file.name)) continue
          if (file.mayHoldSecrets) {
            left.secret++
            continue
          }
          for (const [i, line] of (await linesOf(file, signal)).entries()) {
            if (!fold(line).includes(wanted)) continue
            if (lines.length < limit) lines.push(`${file.name}:${i + 1}: ${line.slice(0, mostColumns)}`)
            else left.matches++
          }
        }
        const notes = [
          ...(lines.length === 0 ? [`no line contains ${JSON.stringify(text)}`] : []),
          ...(left.matches > 0 ? [`[${left.matches} more lines]`] : []),
          ...(left.secret > 0 ? [`[not searched: ${left.secret} files that may contain secrets]`] : []),
        ]
        return [...lines, ...notes].join('\n').toWellFormed()
      },
    }),
  }
}

/** The lines of a file; none if it is large, binary, gone, or a database in use. */
async function linesOf({ path }: ProjectFile, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const { readFile, stat } = await fileSystem()
    if ((await stat(path)).size > mostBytes || isOpenDatabase(path)) return []
    return textOfBytes(await readFile(path, { signal }), path).split(/\r?\n/)
  } catch {
    signal.throwIfAborted()
    return []
  }
}
