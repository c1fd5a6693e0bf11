import { argv, stdout } from 'node:process'
import type { Reply } from './reply.ts'
import { startModelServer } from './server.ts'

/** The loopback server as a separate process: `node main.ts '[…replies]'` prints `{"url","baseUrls"}` on a
 *  line, then one line per request. The n-th request gets the n-th reply, all later ones the last reply. */
const replies: readonly Reply[] = JSON.parse(argv[2] ?? '["ok"]')
const server = await startModelServer({
  reply(request) {
    const { n, provider, model, messages, tools } = request
    stdout.write(`${JSON.stringify({ n, provider, model, messages, tools })}\n`)
    return replies[Math.min(n, replies.length - 1)] ?? 'ok'
  },
})
stdout.write(`${JSON.stringify({ url: server.url, baseUrls: server.baseUrls })}\n`)
process.on('disconnect', () => process.exit())
process.stdin.on('end', () => process.exit()).resume() // ends with its starter
