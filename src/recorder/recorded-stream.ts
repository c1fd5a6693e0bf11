import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'

/** Who watches a stream that passes. */
export interface StreamWatcher {
  /** Sees a part before the reader does; the part is held back until this resolves. */
  part(part: LanguageModelV4StreamPart): void | Promise<void>
  /** Hears once how the stream ended. The reader hears of it after this resolves. */
  over(
    how: { readonly by: 'end' | 'reader' } | { readonly by: 'error'; readonly error: unknown },
  ): Promise<void>
}

/** The same stream, watched. Nothing is read ahead of the reader. */
export function watchStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  watcher: StreamWatcher,
): ReadableStream<LanguageModelV4StreamPart> {
  const reader = stream.getReader()
  return new ReadableStream(
    {
      async pull(controller) {
        const next = await reader.read().catch(async error => {
          await watcher.over({ by: 'error', error })
          throw error
        })
        if (next.done) {
          await watcher.over({ by: 'end' })
          controller.close()
          return
        }
        // Most parts are noted at once; waiting costs a step of the event loop for each.
        const noted = watcher.part(next.value)
        if (noted !== undefined) await noted
        controller.enqueue(next.value)
      },
      async cancel(reason) {
        await Promise.all([watcher.over({ by: 'reader' }), reader.cancel(reason)])
      },
    },
    { highWaterMark: 0 },
  )
}
