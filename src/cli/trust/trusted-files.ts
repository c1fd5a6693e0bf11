import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Environment } from '../../config/folder.ts'
import { isPlainObject } from '../../core/json.ts'
import { readStateFile, writeStateFile } from './state-file.ts'

/** A person's answer about a project's file. It holds until the file changes. */
export interface TrustAnswer {
  readonly file: string
  readonly sha256: string
  readonly answer: 'trusted' | 'declined'
  /** In ISO 8601. */
  readonly at: string
}

const name = 'trusted-files.json'

/** The answer about a file as it is now; null if there is none, or if the file has changed since. */
export function trustOf(file: string, env: Environment): TrustAnswer['answer'] | null {
  const known = trustAnswers(env).find(one => one.file === file)
  return known !== undefined && known.sha256 === hashOfFile(file) ? known.answer : null
}

/** Remembers an answer about a file as it is now. */
export function rememberTrust(
  file: string,
  answer: TrustAnswer['answer'],
  env: Environment,
  now: number,
): void {
  const sha256 = hashOfFile(file)
  if (sha256 === null) return
  const at = new Date(now).toISOString()
  writeStateFile(name, { ...readStateFile(name, env), [file]: { sha256, answer, at } }, env)
}

/** Forgets the answer about a file. Returns whether there was one. */
export function forgetTrust(file: string, env: Environment): boolean {
  const { [file]: found, ...rest } = readStateFile(name, env)
  if (found !== undefined) writeStateFile(name, rest, env)
  return found !== undefined
}

/** All answers. */
export function trustAnswers(env: Environment): readonly TrustAnswer[] {
  return Object.entries(readStateFile(name, env)).flatMap(([file, stored]) => {
    if (!isPlainObject(stored)) return []
    const { sha256, answer, at } = stored
    const isKnown = answer === 'trusted' || answer === 'declined'
    return typeof sha256 === 'string' && isKnown ? [{ file, sha256, answer, at: String(at ?? '') }] : []
  })
}

/** Null if the file cannot be read. */
function hashOfFile(file: string): string | null {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('hex')
  } catch {
    return null
  }
}
