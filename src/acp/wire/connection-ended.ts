/** The other side has ended, or its process has, before it answered. */
export class ConnectionEnded extends Error {
  override readonly name = 'ConnectionEnded'
}
