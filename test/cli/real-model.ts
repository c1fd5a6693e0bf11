import type { Reply } from '../support/models/reply.ts'
import { type ModelServer, type SeenRequest, startModelServer } from '../support/models/server.ts'
import { type Home, home } from './skein.ts'

/** The providers of the command, with the model that the tests use. */
export const models = {
  anthropic: 'anthropic/claude-sonnet-5-5',
  openai: 'openai/gpt-5.5',
  google: 'google/gemini-3.5-flash',
  compatible: 'compatible/loopback',
  ollama: 'ollama/llama3.2',
} as const

/** A home whose models answer on the loopback server. */
export interface ModelHome extends Home, AsyncDisposable {
  readonly server: ModelServer
}

/** A home with keys and addresses of all providers. The n-th request gets the n-th reply, later ones the
 *  last. */
export async function modelHome(
  replies: readonly Reply[] | ((request: SeenRequest) => Reply | Promise<Reply>),
  model: string = models.anthropic,
): Promise<ModelHome> {
  const reply =
    typeof replies === 'function'
      ? replies
      : ({ n }: SeenRequest) => replies[Math.min(n, replies.length - 1)] ?? 'ok'
  const server = await startModelServer({ reply })
  const here = home()
  Object.assign(here.env, modelEnvironment(server), { SKEIN_MODEL: model })
  return {
    ...here,
    server,
    async [Symbol.asyncDispose]() {
      await server.close()
      here[Symbol.dispose]()
    },
  }
}

/** The variables that point every provider to the loopback server. */
function modelEnvironment({ url, baseUrls }: ModelServer): Record<string, string> {
  return {
    ANTHROPIC_API_KEY: 'sk-ant-loopback',
    ANTHROPIC_BASE_URL: url,
    OPENAI_API_KEY: 'sk-loopback',
    OPENAI_BASE_URL: baseUrls.openai,
    GEMINI_API_KEY: 'loopback-google',
    GOOGLE_GEMINI_BASE_URL: url,
    COMPATIBLE_BASE_URL: baseUrls.compatible,
    OLLAMA_HOST: url,
  }
}
