import type { ServerResponse } from 'node:http'

/** The limits of a route, as Discord documents them: a bucket with a number of requests per period, announced
 *  in headers, and 429 with a time to wait for requests beyond it. */
export interface RateLimit {
  readonly requests: number
  readonly periodMs: number
}

export interface RateLimiter {
  /** Counts a request and sets the headers. Returns false, and sends 429, if the bucket is empty. */
  admits(bucket: string, response: ServerResponse): boolean
  /** Requests that were refused. */
  readonly refused: number
}

export function createRateLimiter({ requests, periodMs }: RateLimit): RateLimiter {
  const buckets = new Map<string, { left: number; until: number }>()
  let refused = 0
  return {
    get refused() {
      return refused
    },
    admits(bucket, response) {
      const now = performance.now()
      const known = buckets.get(bucket)
      const state = known && known.until > now ? known : { left: requests, until: now + periodMs }
      buckets.set(bucket, state)
      const resetAfter = Math.max(0, state.until - now) / 1_000
      const isOver = state.left <= 0
      if (!isOver) state.left--
      response.setHeader('X-RateLimit-Limit', requests)
      response.setHeader('X-RateLimit-Remaining', state.left)
      response.setHeader('X-RateLimit-Reset-After', resetAfter.toFixed(3))
      response.setHeader('X-RateLimit-Reset', ((Date.now() + resetAfter * 1_000) / 1_000).toFixed(3))
      response.setHeader('X-RateLimit-Bucket', bucket.replaceAll(/\W/g, '').slice(0, 40))
      if (!isOver) return true
      refused++
      response.setHeader('Retry-After', Math.ceil(resetAfter))
      response.writeHead(429, { 'content-type': 'application/json' })
      const body = { message: 'You are being rate limited.', retry_after: resetAfter, global: false }
      response.end(JSON.stringify(body))
      return false
    },
  }
}
