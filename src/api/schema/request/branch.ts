import { z } from 'zod'

/** The body that creates a branch. */
export const forkSchema = z
  .strictObject({
    name: z.string().optional().describe('default: a free name'),
    at: z
      .string()
      .nullish()
      .describe('the message that it points to; null: empty. Default: the head of from'),
    from: z.string().optional().describe('a branch. Default: the active branch'),
    key: z.string().nullish(),
    title: z.string().nullish(),
  })
  .meta({ id: 'Fork', description: 'A branch to create. No message is copied.' })

/** The body that changes a branch. */
export const branchPatchSchema = z
  .strictObject({
    name: z.string().optional().describe('renames the branch'),
    head: z.string().nullish().describe('moves the branch to this message; null empties it'),
    expected_head: z
      .string()
      .nullish()
      .describe('required with head: refuses if the branch has another head'),
    active: z.literal(true).optional().describe('makes it the branch for callers that name none'),
    key: z.string().nullish().describe('null removes the key'),
  })
  .refine(({ head, expected_head }) => head === undefined || expected_head !== undefined, {
    error: 'is required with head',
    path: ['expected_head'],
  })
  .meta({ id: 'BranchPatch', description: 'An absent field keeps its value.' })
