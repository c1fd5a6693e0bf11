import { checkObject, checkText } from '../../core/check.ts'
import { createSerialQueue } from '../../core/wait.ts'
import type { ApprovalDetails } from '../approval/approval.ts'
import { choiceField, optionalWhole, ownTool, textField } from '../tools/own-tool.ts'
import type { Tools } from '../tools/tool.ts'
import { type CheckedPaths, checkedPaths, readApproval } from './checked-paths.ts'
import { editText, withEndingsOf } from './edit-text.ts'
import { localWorkspace } from './local-workspace.ts'
import { planTool } from './plan-tool.ts'
import type { ProjectPath } from './project-path.ts'
import { searchTools } from './search-tools.ts'
import { shellTool } from './shell-tool.ts'
import type { Workspace } from './workspace.ts'

/** Where coding tools work. */
export interface CodingToolsOptions {
  /** The project. */
  readonly directory: string
  /** Further directories that belong to it. Default: none. */
  readonly additionalDirectories?: readonly string[]
}

/** The tools of a coding agent: `read_file`, `find_files`, `search_files`, `edit_file`, `write_file`,
 *  `run_command` and `update_plan`. Every change and every command needs an approval; so does everything
 *  outside the project, inside `.git`, and in files that may contain secrets.
 *
 * @example
 * ```ts
 * import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
 * import { join } from 'node:path'
 * import { codingTools, createAgent } from 'skein/agent'
 * import { scripted } from 'skein/models'
 *
 * const directory = mkdtempSync('project-')
 * const file = join(directory, 'sum.js')
 * writeFileSync(file, 'export const sum = (a, b) => a - b\n')
 * const edit = { path: 'sum.js', old_text: 'a - b', new_text: 'a + b' }
 * await using agent = createAgent({
 *   model: scripted({ script: [{ calls: [{ name: 'edit_file', input: edit }] }, 'Fixed.'] }),
 *   tools: codingTools({ directory }),
 *   approve: ({ title, kind }) => {
 *     console.log(title) // edit sum.js
 *     return kind === 'edit' ? 'allow' : 'deny'
 *   },
 * })
 * await agent.ask('fix', 'The sum is wrong.')
 * console.log(readFileSync(file, 'utf8').trim()) // export const sum = (a, b) => a + b
 * ```
 */
export function codingTools(options: CodingToolsOptions): Tools {
  checkObject(options, 'options', 'an object with a directory')
  const { directory, additionalDirectories = [] } = options
  checkText(directory, 'directory', 4_096)
  return codingToolsOn(localWorkspace([directory, ...additionalDirectories]))
}

/** The same tools in another workspace, such as an editor. */
export function codingToolsOn(workspace: Workspace): Tools {
  const paths = checkedPaths(workspace)
  return {
    ...fileTools(workspace, paths),
    ...searchTools(workspace, paths),
    run_command: shellTool(workspace, paths),
    update_plan: planTool,
  }
}

const path = /* @__PURE__ */ textField({ min: 1, about: 'relative to the project, or absolute' })

function fileTools({ readText, writeText }: Workspace, paths: CheckedPaths): Tools {
  // The calls of one answer run in parallel, and may change the same file.
  const oneByOne = createSerialQueue()
  /** What is asked before a file is changed. Answers cover all ordinary files of the project. */
  const editApproval = (
    verb: string,
    { path: file, shown, reason }: ProjectPath,
    oldText: string | null,
    newText: string,
  ): ApprovalDetails => ({
    title: `${verb} ${shown}${oldText === null ? ' (new file)' : ''}`,
    preview: { type: 'diff', path: file, oldText, newText },
    reason,
    scope: reason === null ? 'edits of the project' : `edits of ${file}`,
  })
  const existing = async (file: string, signal: AbortSignal) => {
    try {
      return await readText(file, signal)
    } catch {
      signal.throwIfAborted()
      // Missing, or not a text: it is replaced as a whole.
      return null
    }
  }
  return {
    read_file: ownTool({
      description: 'Reads a text file. Give line and limit to read a part of a long one.',
      input: {
        path,
        line: optionalWhole({ min: 1, about: 'the first line, from 1' }),
        limit: optionalWhole({ min: 1, about: 'how many lines' }),
      },
      repeatable: true,
      readOnly: true,
      kind: 'read',
      needsApproval: async ({ path: written }, { callId }) =>
        readApproval('read', await paths.look(callId, written)),
      async run({ path: written, line, limit }, { callId, signal }) {
        const text = await readText((await paths.use(callId, written)).path, signal)
        if (line === undefined && limit === undefined) return text
        const lines = text.split('\n')
        const first = (line ?? 1) - 1
        if (first >= lines.length) throw new Error(`${written} has only ${lines.length} lines`)
        return lines.slice(first, first + (limit ?? lines.length)).join('\n')
      },
    }),
    edit_file: ownTool({
      description:
        'Replaces a text in a file, exactly. old_text must be in the file once, with its white space; give enough lines around it.',
      input: {
        path,
        old_text: textField({ min: 1, about: 'the text to replace, exactly as it is in the file' }),
        new_text: textField({ about: 'the text in its place' }),
        replace: choiceField('one', 'all'),
      },
      repeatable: false,
      readOnly: false,
      kind: 'edit',
      async needsApproval({ path: written, old_text: oldText, new_text: newText, replace }, context) {
        const place = await paths.look(context.callId, written)
        const before = await readText(place.path, context.signal)
        return editApproval('edit', place, before, editText(before, { oldText, newText, replace }))
      },
      async run({ path: written, old_text: oldText, new_text: newText, replace }, { callId, signal }) {
        const place = await paths.use(callId, written)
        await oneByOne(async () => {
          const before = await readText(place.path, signal)
          await writeText(place.path, editText(before, { oldText, newText, replace }), signal)
        })
        return `edited ${place.shown}`
      },
    }),
    write_file: ownTool({
      description:
        'Writes a whole text file: a new one, or all of an existing one. To change a part, use edit_file.',
      input: { path, content: textField({ about: 'all of it, from the first to the last line' }) },
      repeatable: true,
      readOnly: false,
      kind: 'edit',
      async needsApproval({ path: written, content }, { callId, signal }) {
        const place = await paths.look(callId, written)
        const before = await existing(place.path, signal)
        return editApproval('write', place, before, withEndingsOf(before ?? '', content))
      },
      async run({ path: written, content }, { callId, signal }) {
        const place = await paths.use(callId, written)
        await oneByOne(async () => {
          const before = await existing(place.path, signal)
          await writeText(place.path, withEndingsOf(before ?? '', content), signal)
        })
        return `wrote ${content.length} characters to ${place.shown}`
      },
    }),
  }
}
