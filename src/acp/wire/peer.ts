import { randomBytes } from 'node:crypto'
import { errorText } from '../../core/error-text.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Connection, Peer } from './connection.ts'
import { isObject } from './is-object.ts'
import { ConnectionEnded, internalError, RpcError } from './rpc-error.ts'
import type { RpcMessage } from './wire-line.ts'

interface Waiting {
  answer(message: RpcMessage): void
  fail(error: unknown): void
}

/** Sends requests on a connection that relays other requests, too. Our ids have a random prefix, so an answer
 *  is ours exactly if its id has it. */
export function createPeer(
  connection: Pick<Connection, 'send'>,
  { idPrefix = `skein-${randomBytes(8).toString('hex')}-` }: { readonly idPrefix?: string } = {},
): Peer {
  const waiting = new Map<string, Waiting>()
  let count = 0
  let over: Error | null = null

  function send(message: object): void {
    connection.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
  }

  return {
    request(method, params, { signal } = {}) {
      if (signal?.aborted) return Promise.reject(signal.reason)
      if (over) return Promise.reject(endedBefore(method, over))
      const id = `${idPrefix}${++count}`
      return new Promise((resolve, reject) => {
        const cancel = () => {
          leave()
          send({ method: '$/cancel_request', params: { requestId: id } })
          reject(signal?.reason)
        }
        const leave = () => {
          waiting.delete(id)
          signal?.removeEventListener('abort', cancel)
        }
        signal?.addEventListener('abort', cancel)
        waiting.set(id, {
          answer(message) {
            leave()
            const { error } = message
            if (error === undefined || error === null) resolve(message.result)
            else reject(refusal(error))
          },
          fail(error) {
            leave()
            reject(endedBefore(method, error))
          },
        })
        send({ id, method, params })
      })
    },
    notify(method, params) {
      send({ method, params })
    },
    take({ message }) {
      const id = message?.id
      if (typeof id !== 'string' || !id.startsWith(idPrefix) || message?.method !== undefined) return false
      // A cancelled request is no longer in the map.
      waiting.get(id)?.answer(message!)
      return true
    },
    end(reason) {
      over ??= reason
      for (const one of [...waiting.values()]) one.fail(reason)
    },
  }
}

function endedBefore(method: string, cause: unknown): ConnectionEnded {
  return new ConnectionEnded(`${method} was not answered: ${errorText(cause)}`, { cause })
}

/** The `error` of a peer may have any shape. */
function refusal(error: unknown): RpcError {
  const { code, message, data }: JsonObject = isObject(error) ? error : { message: String(error) }
  return new RpcError({
    code: typeof code === 'number' ? code : internalError,
    message: typeof message === 'string' ? message : JSON.stringify(error),
    data,
  })
}
