import { z } from 'zod'
import { countSchema as count } from '../index.ts'
import type { CommandShape } from './shape.ts'

const value = z.union([z.string(), z.number(), z.boolean(), z.null()])
const row = z.strictObject({ path: z.string(), value, source: z.string() })
const changed = z.strictObject({
  setting: z.string(),
  value: value.describe('that counts now'),
  source: z.string().nullable(),
  file: z.string().describe('that was changed'),
})

/** The commands of the configuration and of named agents. */
export const configShapes: Readonly<Record<string, readonly CommandShape[]>> = {
  config: [
    {
      typed: 'skein config --json',
      schema: z.strictObject({
        store: z.string().describe('without a password'),
        store_from: z.enum(['given', 'project', 'user']),
        files: z.array(z.string()),
        ignored: z.array(z.string()),
        settings: z.array(row),
        keys: z.record(z.string(), z.boolean()).describe('whether a key is set; never the key itself'),
      }),
    },
  ],
  'config get': [
    {
      typed: 'skein config get <setting> --json',
      schema: z.strictObject({
        setting: z.string(),
        values: z.array(row).describe('one for a setting, several for a section'),
        takes: z.string().nullable(),
        default: z.string().nullable(),
        about: z.string().nullable(),
      }),
    },
  ],
  'config set': [{ typed: 'skein config set <setting> <value> --json', schema: changed }],
  'config unset': [{ typed: 'skein config unset <setting> --json', schema: changed }],
  'config models': [
    {
      typed: 'skein config models --json',
      schema: z.array(
        z.strictObject({
          name: z.string(),
          id: z.string(),
          window: count,
          missing_key: z.string().nullable().describe('the variable to set'),
          is_default: z.boolean(),
        }),
      ),
    },
  ],
  'config keys': [
    {
      typed: 'skein config keys --json',
      schema: z.array(
        z.strictObject({
          provider: z.string(),
          set: z.boolean(),
          from: z.string().nullable().describe('a variable or a file; never the key itself'),
        }),
      ),
    },
    {
      typed: 'skein config keys set <provider> --json',
      schema: z.strictObject({ provider: z.string(), file: z.string() }),
    },
    {
      typed: 'skein config keys rm <provider> --json',
      schema: z.strictObject({ provider: z.string(), removed: z.boolean() }),
    },
  ],
  'config trust': [
    {
      typed: 'skein config trust --json',
      schema: z.strictObject({
        file: z.string(),
        starts: z.array(z.strictObject({ path: z.string(), command: z.string() })),
      }),
    },
    {
      typed: 'skein config trust ls --json',
      schema: z.array(
        z.strictObject({
          file: z.string(),
          sha256: z.string(),
          answer: z.enum(['trusted', 'declined']),
          at: z.string(),
          holds: z.boolean().describe('false if the file has changed since'),
        }),
      ),
    },
    {
      typed: 'skein config trust rm --json',
      schema: z.strictObject({ file: z.string(), removed: z.boolean() }),
    },
  ],
  agents: [
    {
      typed: 'skein agents --json',
      schema: z.array(
        z.strictObject({
          name: z.string(),
          title: z.string().nullable(),
          installed: z.boolean(),
          from: z.enum(['user', 'project', 'preset']),
          trusted: z.boolean().describe('false if the file of the project is not trusted'),
          command: z.array(z.string()).nullable().describe('null for an agent of ours'),
          model: z.string().nullable().describe('of an agent of ours'),
          install: z.string().nullable().describe('the command that installs it'),
        }),
      ),
    },
  ],
}
