import { createHash } from 'node:crypto'

/** What every provider takes as the name of a tool. */
const longest = 64

/** The names by which a model knows the tools of MCP servers: `<server>_<tool>`, with `_` for what no provider takes.
 *  A name depends on the configured servers and on the tools of its own server, never on whether another server
 *  has started: a stored call means the same tool tomorrow. Where two would be the same, or one too long, a few
 *  characters of a hash keep them apart. */
export function nameTools(
  servers: readonly string[],
  toolsOf: (server: string) => readonly string[],
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const taken = new Set<string>()
  return new Map(
    servers.map(server => {
      const prefix = prefixOf(server, servers)
      const tools = [...new Set(toolsOf(server))]
      const names = new Map<string, string>()
      // Those that need no change have the first claim on their name.
      for (const tool of tools.toSorted((a, b) => Number(safe(a) !== a) - Number(safe(b) !== b))) {
        const wanted = `${prefix}_${safe(tool)}`
        const name =
          wanted.length <= longest && !taken.has(wanted) ? wanted : marked(wanted, `${server}\0${tool}`)
        taken.add(name)
        names.set(tool, name)
      }
      return [server, names]
    }),
  )
}

/** A server's own prefix: marked if another server could have tools that begin the same. */
function prefixOf(server: string, servers: readonly string[]): string {
  const prefix = safe(server)
  const doubtful = servers.some(other => {
    if (other === server) return false
    const theirs = safe(other)
    return theirs === prefix ? server !== prefix : prefix.startsWith(`${theirs}_`)
  })
  return doubtful ? marked(prefix, server) : prefix
}

function safe(text: string): string {
  return text.replaceAll(/[^a-zA-Z0-9_-]/g, '_')
}

function marked(text: string, whole: string): string {
  const mark = createHash('sha256').update(whole).digest('hex').slice(0, 8)
  return `${text.slice(0, longest - mark.length - 1)}_${mark}`
}
