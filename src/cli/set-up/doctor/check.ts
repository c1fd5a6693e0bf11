/** A line of `skein doctor`. */
export interface Check {
  readonly name:
    | 'node'
    | 'store'
    | 'verify'
    | 'keys'
    | 'config'
    | 'model'
    | 'mcp'
    | 'agents'
    | 'acp'
    | 'discord'
  readonly status: 'ok' | 'note' | 'failed'
  readonly message: string
}
