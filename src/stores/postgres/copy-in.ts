import type { BatchClient } from './batch.ts'

/** The internal methods of pg's connection that a COPY needs. */
interface Connection {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/** Most bytes of one message to the server. */
const mostBytes = 262_144

/** Runs a `COPY … FROM STDIN` with its rows, and returns their number. It is sent as psql sends it: as text,
 *  on its own, and the rows when the server asks for them. Poolers know this form. Inside a transaction, an
 *  error fails the transaction, as for any other statement. */
export function copyIn(client: BatchClient, sql: string, rows: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let written = 0
    client.query({
      submit: (connection: Connection) => connection.query(sql),
      handleCopyInResponse(connection: Connection) {
        for (let at = 0; at < rows.length; at += mostBytes)
          connection.sendCopyFromChunk(rows.subarray(at, at + mostBytes))
        connection.endCopyFrom()
      },
      handleCommandComplete({ text }: { text: string }) {
        written = Number(text.split(' ').at(-1))
      },
      handleReadyForQuery: () => resolve(written),
      handleError: reject,
    } as { submit(connection: never): void })
  })
}
