import { runChildScript } from './child-script.ts'

/** The answer to one query: its rows, or its error. */
export interface QueryAnswer {
  readonly rows: readonly Record<string, unknown>[]
  readonly error?: { readonly message: string; readonly code: string }
}

const script = `
  const [driver, file, ...queries] = process.argv.slice(1)
  const db = new (require(driver))(file, { readonly: true, fileMustExist: true })
  const answer = query => {
    try {
      return { rows: db.prepare(query).all() }
    } catch ({ message, code }) {
      return { rows: [], error: { message, code: String(code) } }
    }
  }
  process.stdout.write(JSON.stringify(queries.map(answer)))`

/** Runs queries that read the whole file in a process of their own. Returns null if they cannot run there. */
export async function checkInChild(
  file: string,
  queries: readonly string[],
  signal: AbortSignal,
): Promise<readonly QueryAnswer[] | null> {
  const output = await runChildScript(script, [file, ...queries], { signal })
  return output === null ? null : (JSON.parse(output) as QueryAnswer[])
}
