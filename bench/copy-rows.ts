import type { Client } from 'pg'

/** The internal methods of pg's connection that a COPY needs. */
interface CopyConnection {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/** Loads rows with COPY in its text format. */
export function copyRows(client: Client, into: string, rows: readonly (readonly unknown[])[]): Promise<void> {
  const text = rows.map(row => row.map(field).join('\t')).join('\n')
  return new Promise((resolve, reject) => {
    const copy = {
      submit: (connection: CopyConnection) => connection.query(`COPY ${into} FROM STDIN`),
      handleCopyInResponse(connection: CopyConnection) {
        connection.sendCopyFromChunk(Buffer.from(`${text}\n`))
        connection.endCopyFrom()
      },
      handleCommandComplete: () => {},
      handleReadyForQuery: () => resolve(),
      handleError: reject,
    }
    client.query(copy as never)
  })
}

function field(value: unknown): string {
  if (value === null || value === undefined) return '\\N'
  if (Buffer.isBuffer(value)) return `\\\\x${value.toString('hex')}`
  const text = String(value)
  return /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, escaped) : text
}

function escaped(character: string): string {
  return character === '\\' ? '\\\\' : character === '\t' ? '\\t' : character === '\n' ? '\\n' : '\\r'
}
