import type { Writable } from 'node:stream'

/** A Node stream as the web stream that the SDK writes to. A write resolves when the stream has taken it, so
 *  that one line is in memory at a time; `Writable.toWeb` begins the next ones before. An error of the stream
 *  fails all later writes. */
export function oneWriteAtATime(output: Writable): WritableStream<Uint8Array> {
  return new WritableStream({
    start(controller) {
      output.on('error', error => controller.error(error))
    },
    write(chunk) {
      const taken = Promise.withResolvers<void>()
      output.write(chunk, error => (error ? taken.reject(error) : taken.resolve()))
      return taken.promise
    },
  })
}
