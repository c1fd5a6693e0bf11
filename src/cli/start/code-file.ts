/** The code that V8 has compiled for scripts of the bundle, in one file. V8 accepts it only in the version
 *  and with the settings that made it. */
export interface CompiledCode {
  /** The commands that had run when it was made. The functions of others may be missing. */
  readonly commands: readonly string[]
  /** By the name of the script. */
  readonly scripts: ReadonlyMap<string, Uint8Array>
}

/** Its name: V8 checks its own version, but not the machine. */
export function codeFileName(bundle: string): string {
  return `code-${bundle}-${process.version}-${process.platform}-${process.arch}`
}

const ending = 'skein code 1\n'

interface Contents {
  readonly commands: readonly string[]
  /** Name, position and length. */
  readonly scripts: readonly (readonly [string, number, number])[]
}

/** The code of each script, then a list of them, its length in ten digits, and the ending. And all of it a
 *  second time: V8 would run damaged code, and Node has no checksum that is loaded as fast as another half is
 *  read and compared (0.7 ms; CRC-32 of `node:zlib` takes 3.5). */
export function encodeCode({ commands, scripts }: CompiledCode): Buffer {
  const list: [string, number, number][] = []
  const parts: Uint8Array[] = []
  let at = 0
  for (const [name, code] of scripts) {
    list.push([name, at, code.length])
    // V8 copies code that does not begin at a multiple of 8.
    const padding = new Uint8Array((8 - (code.length % 8)) % 8)
    parts.push(code, padding)
    at += code.length + padding.length
  }
  const contents = Buffer.from(JSON.stringify({ commands, scripts: list } satisfies Contents))
  const length = String(contents.length).padStart(10, '0')
  parts.push(contents, Buffer.from(length + ending))
  return Buffer.concat([...parts, ...parts])
}

/** Null if the file is incomplete or damaged. */
export function decodeCode(file: Buffer): CompiledCode | null {
  const bytes = file.subarray(0, file.length / 2)
  if (bytes.compare(file, bytes.length) !== 0) return null
  const tail = bytes.length - ending.length - 10
  if (tail < 0 || bytes.toString('latin1', tail + 10) !== ending) return null
  const start = tail - Number(bytes.toString('latin1', tail, tail + 10))
  try {
    const { commands, scripts } = JSON.parse(bytes.toString('utf8', start, tail)) as Contents
    if (!Array.isArray(commands)) return null
    return {
      commands,
      scripts: new Map(scripts.map(([name, at, length]) => [name, bytes.subarray(at, at + length)])),
    }
  } catch {
    return null
  }
}
