import { resolve } from 'node:path'
import type { AgentContext, ClientCapabilities } from '@agentclientprotocol/sdk/unstable'
import { optionalWhole, ownTool, textField } from '../../agent/tools/own-tool.ts'
import type { Tools } from '../../agent/tools/tool.ts'

/** The file access that a client allows. */
export type FileCapabilities = NonNullable<ClientCapabilities['fs']>

export interface EditorFileOptions {
  readonly client: Pick<AgentContext, 'request'>
  readonly sessionId: string
  readonly cwd: string
  readonly can: FileCapabilities
}

/** Tools for the files of the editor, unsaved changes included, as far as the client supports them. The
 *  client reads and writes, so it controls access and sees every change. */
export function editorFileTools({ client, sessionId, cwd, can }: EditorFileOptions): Tools {
  const path = textField({ min: 1, about: 'absolute, or from the working directory' })
  return {
    ...(can.readTextFile && {
      read_file: ownTool({
        description: 'Reads a text file as it is in the editor, unsaved changes included.',
        input: {
          path,
          line: optionalWhole({ min: 1, about: 'the first line, from 1' }),
          limit: optionalWhole({ min: 1, about: 'how many lines' }),
        },
        repeatable: true,
        readOnly: true,
        async run({ path: file, line, limit }, { signal }) {
          const { content } = await client.request(
            'fs/read_text_file',
            {
              sessionId,
              path: resolve(cwd, file),
              ...(line === undefined ? {} : { line }),
              ...(limit === undefined ? {} : { limit }),
            },
            { cancellationSignal: signal },
          )
          return content
        },
      }),
    }),
    ...(can.writeTextFile && {
      write_file: ownTool({
        description:
          'Writes a whole text file through the editor, which shows what has changed. Makes it if there is none.',
        input: { path, content: textField({ about: 'all of it, from the first to the last line' }) },
        repeatable: true,
        readOnly: false,
        async run({ path: file, content }, { signal }) {
          await client.request(
            'fs/write_text_file',
            { sessionId, path: resolve(cwd, file), content },
            { cancellationSignal: signal },
          )
          return `wrote ${content.length} characters to ${file}`
        },
      }),
    }),
  }
}
