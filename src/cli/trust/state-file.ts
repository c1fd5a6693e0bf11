import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Environment, stateFolder } from '../../config/folder.ts'
import { isPlainObject, type Json, type JsonObject } from '../../core/json.ts'
import { writeNewFile } from '../transfer/new-file.ts'

/** The JSON object in a file of the user's state folder. A missing or damaged file is an empty object: it
 *  holds permissions, and without it the person is asked again. */
export function readStateFile(name: string, env: Environment): JsonObject {
  try {
    const content: Json = JSON.parse(readFileSync(join(stateFolder(env), name), 'utf8'))
    return isPlainObject(content) ? content : {}
  } catch {
    return {}
  }
}

/** Replaces the file at once. Only the user can read it. */
export function writeStateFile(name: string, content: JsonObject, env: Environment): void {
  mkdirSync(stateFolder(env), { recursive: true, mode: 0o700 })
  writeNewFile(join(stateFolder(env), name), `${JSON.stringify(content, null, 2)}\n`, true)
}
