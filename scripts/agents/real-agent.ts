/** An agent that other people make, and what it takes to run it offline with a model of our own. */
export interface RealAgent {
  readonly name: string
  /** Pinned, because npm takes an older release without a word where the newest does not run. */
  readonly packages: readonly [string, ...string[]]
  /** Its command, which stands in `node_modules/.bin`, and the arguments that make it speak ACP. */
  readonly command: readonly [string, ...string[]]
  /** Added to the environment, in which HOME and the XDG folders are places of this run. */
  env(world: World): Readonly<Record<string, string>>
  /** Written before it is started: by path, below HOME unless absolute. */
  files?(world: World): Readonly<Record<string, string>>
  /** Typed once before it is started the first time. */
  readonly firstRun?: (world: World) => readonly string[]
  /** What it does depends on the clock: it is started when a minute begins. */
  readonly startsWithTheMinute?: boolean
  /** What a reader of its rows has to know. */
  readonly note?: string
}

/** Where an agent finds itself. */
export interface World {
  readonly home: string
  /** `http://127.0.0.1:<port>`, where all of them find their model. */
  readonly model: string
}

/** The name and version that a table shows. */
export function titleOf({ packages: [main] }: RealAgent): string {
  const at = main.lastIndexOf('@')
  return `${main.slice(0, at)} ${main.slice(at + 1)}`
}
