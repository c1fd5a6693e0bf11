import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ModelServer, type ModelServerOptions, startModelServer } from '../../support/models/server.ts'
import { type Home, home } from '../skein.ts'

/** An empty home whose providers are the loopback server. */
export interface ServedHome extends Home {
  readonly server: ModelServer
  /** The keys and addresses, which `skein` has by default. */
  readonly keys: NodeJS.ProcessEnv
  /** Writes the project's skein.yaml. */
  configure(...lines: readonly string[]): void
  [Symbol.asyncDispose](): Promise<void>
}

export async function servedHome(options: ModelServerOptions = {}): Promise<ServedHome> {
  const server = await startModelServer(options)
  const here = home()
  const keys = {
    ANTHROPIC_API_KEY: 'k',
    ANTHROPIC_BASE_URL: server.url,
    OPENAI_API_KEY: 'k',
    OPENAI_BASE_URL: server.baseUrls.openai,
    COMPATIBLE_BASE_URL: server.baseUrls.compatible,
  }
  return {
    ...here,
    server,
    keys,
    skein: (args, run = {}) => here.skein(args, { ...run, env: { ...keys, ...run.env } }),
    configure: (...lines) => writeFileSync(join(here.cwd, 'skein.yaml'), `${lines.join('\n')}\n`),
    async [Symbol.asyncDispose]() {
      here[Symbol.dispose]()
      await server.close()
    },
  }
}
