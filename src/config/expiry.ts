import type { NewConversation } from '../core/conversation.ts'
import type { ConversationWriter } from '../core/ports.ts'
import type { Config } from './config.ts'

/** The settings that decide when new conversations expire. */
export type ExpirySettings = Pick<Config, 'channels'> & {
  readonly conversation: Pick<Config['conversation'], 'sessionExpirationMs'>
}

/** The methods of a store that create conversations. */
type Creator = Pick<ConversationWriter, 'create' | 'findOrCreate' | 'findOrCreateByTask'>

/** A store whose new conversations expire as configured: those of a task after `session_expiration`, others
 *  after the `expiration` of their channel, counted from their last activity. An expiry that the caller gives
 *  wins. The settings are read when the first conversation is created. */
export function withExpiry<S extends Creator>(store: S, readSettings: () => Promise<ExpirySettings>): S {
  let reading: Promise<ExpirySettings> | undefined
  const settings = () => {
    reading ??= readSettings()
    return reading
  }
  return {
    ...store,
    create: async (conversation = {}) => store.create(expiring(conversation, await settings())),
    findOrCreate: async (key, conversation = {}) =>
      store.findOrCreate(key, expiring(conversation, await settings())),
    findOrCreateByTask: async (task, conversation = {}) => {
      const { task: _, ...rest } = expiring({ ...conversation, task }, await settings())
      return store.findOrCreateByTask(task, rest)
    },
  }
}

function expiring<C extends NewConversation>(conversation: C, settings: ExpirySettings): C {
  const { task, channel, expiresAt, ttlMs } = conversation
  if (expiresAt !== undefined || ttlMs !== undefined) return conversation
  const ofChannel = channel == null ? undefined : settings.channels[channel]?.expirationMs
  const ms = task == null ? ofChannel : settings.conversation.sessionExpirationMs
  return ms == null ? conversation : { ...conversation, ttlMs: ms }
}
