import { z } from 'zod'
import { tokenScopes } from '../../core/access-token.ts'
import { timeSchema } from './values.ts'

/** A token of the HTTP service, without its secret. */
export const tokenSchema = z
  .strictObject({
    id: z.string().describe('names the token in lists; it is not secret'),
    name: z.string(),
    tenant: z.string(),
    scopes: z.array(z.enum(tokenScopes as ['read', 'write', 'ask', 'admin'])),
    created_at: timeSchema,
    expires_at: timeSchema.nullable(),
    revoked_at: timeSchema.nullable(),
  })
  .meta({ id: 'Token', description: 'A token of the HTTP service, without its secret.' })
