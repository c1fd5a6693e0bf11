import { resolve } from 'node:path'
import type { AgentContext, ClientCapabilities } from '@agentclientprotocol/sdk/unstable'
import { z } from 'zod'
import { type Tools, tool } from '../../agent/tools/tool.ts'

/** What a client lets us do with its files. */
export type FileCapabilities = NonNullable<ClientCapabilities['fs']>

export interface EditorFileOptions {
  readonly client: Pick<AgentContext, 'request'>
  readonly sessionId: string
  readonly cwd: string
  readonly can: FileCapabilities
}

/** The files as they stand in the editor, unsaved changes included, as tools: as far as the client offers
 *  them. It is the client that reads and writes, so that it decides what lies within reach, and sees every
 *  change. */
export function editorFileTools({ client, sessionId, cwd, can }: EditorFileOptions): Tools {
  const path = z.string().min(1).describe('absolute, or from the working directory')
  return {
    ...(can.readTextFile && {
      read_file: tool({
        description: 'Reads a text file as it stands in the editor, unsaved changes included.',
        input: z.object({
          path,
          line: z.int().min(1).optional().describe('the first line, from 1'),
          limit: z.int().min(1).optional().describe('how many lines'),
        }),
        repeatable: true,
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
      write_file: tool({
        description:
          'Writes a whole text file through the editor, which shows what has changed. Makes it if there is none.',
        input: z.object({ path, content: z.string().describe('all of it, from the first to the last line') }),
        repeatable: true,
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
