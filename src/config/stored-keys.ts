import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { InvalidError } from '../core/errors.ts'
import { isPlainObject } from '../core/json.ts'
import { configFolder, type Environment } from './folder.ts'
import { providerVariables } from './provider-settings.ts'

/** The file with the keys that `skein config keys set` stores: `~/.config/skein/keys.json`. */
export function keysFile(env: Environment): string {
  return join(configFolder(env), 'keys.json')
}

/** The stored keys by provider. Unknown providers are left out. Throws InvalidError if the file cannot be
 *  read, without its content. */
export function readStoredKeys(env: Environment): Readonly<Record<string, string>> {
  const file = keysFile(env)
  let content: unknown
  try {
    content = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    // The message of a syntax error quotes the file.
    const why = error instanceof SyntaxError ? 'is not JSON' : `cannot be read: ${(error as Error).message}`
    throw new InvalidError(file, `${why}. To start again: rm ${file}`)
  }
  if (!isPlainObject(content))
    throw new InvalidError(file, `is not a JSON object. To start again: rm ${file}`)
  return Object.fromEntries(
    Object.entries(content).filter(
      (entry): entry is [string, string] =>
        Object.hasOwn(providerVariables, entry[0]) && typeof entry[1] === 'string',
    ),
  )
}
