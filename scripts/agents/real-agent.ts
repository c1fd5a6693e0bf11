/** Another vendor's agent, and how to run it offline with a model of our own. */
export interface RealAgent {
  readonly name: string
  /** Pinned, because npm silently installs an older release if the newest does not run. */
  readonly packages: readonly [string, ...string[]]
  /** Its command in `node_modules/.bin`, and the arguments that make it use ACP. */
  readonly command: readonly [string, ...string[]]
  /** Added to the environment, in which HOME and the XDG folders belong to this run. */
  env(world: World): Readonly<Record<string, string>>
  /** Files to write before the start: by path, relative to HOME unless absolute. */
  files?(world: World): Readonly<Record<string, string>>
  /** A command to run once before the first start. */
  readonly firstRun?: (world: World) => readonly string[]
  /** Its behaviour depends on the clock: start it at the beginning of a minute. */
  readonly startsWithTheMinute?: boolean
  /** A note for the reader of its rows. */
  readonly note?: string
}

/** The environment of an agent. */
export interface World {
  readonly home: string
  /** `http://127.0.0.1:<port>`, where all of them find their model. */
  readonly model: string
}

/** The name and version in the table. */
export function titleOf({ packages: [main] }: RealAgent): string {
  const at = main.lastIndexOf('@')
  return `${main.slice(0, at)} ${main.slice(at + 1)}`
}
