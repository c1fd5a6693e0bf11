import { z } from 'zod'

/** Commands without `--json` (`noJson` in their declaration), and why. */
export const withoutJson: Readonly<Record<string, string>> = {
  chat: 'it is interactive; for one answer: `skein "…" --json`',
  resume: 'it opens a chat; for one answer: `skein --resume <id> "…" --json`',
  completion: 'it prints a script',
  'config edit': 'it opens an editor',
  acp: 'its output is the protocol',
  mcp: 'its output is the protocol',
  agent: 'it is interactive; for its messages: `skein show --json`',
}

/** The output of every failing command on stderr. */
export const failureSchema = z.strictObject({
  error: z.strictObject({
    code: z
      .string()
      .describe('usage, interrupted, failure, or the code of the error: not_found, conflict, …'),
    message: z.string(),
    hint: z.string().nullable().describe('what to do'),
    candidates: z.array(z.string()).describe('full ids of possible matches'),
  }),
})
