/** A broken file, and a description of the fault. */
export interface BrokenFile {
  readonly broken: Buffer
  readonly ways: readonly string[]
}

type Random = () => number
type Way = (file: Buffer, random: Random) => Buffer

/** Applies one to four typical faults to a file: those of crashes, disks, mail and users. */
export function breakFile(file: Buffer, random: Random): BrokenFile {
  const names = Object.keys(ways)
  const count = 1 + Math.floor(random() * 4)
  const chosen: string[] = []
  let broken = file
  for (let i = 0; i < count; i++) {
    const name = names[Math.floor(random() * names.length)]!
    chosen.push(name)
    broken = ways[name]!(broken, random)
  }
  return { broken, ways: chosen }
}

const within = (random: Random, most: number) => Math.floor(random() * Math.max(1, most))

const spliced = (file: Buffer, at: number, drop: number, put: Uint8Array = Buffer.alloc(0)) =>
  Buffer.concat([file.subarray(0, at), put, file.subarray(at + drop)])

/** Changes the list of lines. */
function onLines(change: (lines: string[], random: Random) => string[]): Way {
  // As bytes: invalid UTF-8 must stay as it is.
  return (file, random) =>
    Buffer.from(change(file.toString('latin1').split('\n'), random).join('\n'), 'latin1')
}

const ways: Readonly<Record<string, Way>> = {
  'cut off': (file, random) => file.subarray(0, within(random, file.length)),
  'beginning lost': (file, random) => file.subarray(within(random, file.length / 4)),
  'bytes lost': (file, random) => spliced(file, within(random, file.length), 1 + within(random, 3_000)),
  'NUL run': (file, random) => {
    const length = 1 + within(random, 4_096)
    return spliced(file, within(random, file.length), random() < 0.5 ? 0 : length, Buffer.alloc(length))
  },
  'bit flipped': (file, random) => {
    const copy = Buffer.from(file)
    const at = within(random, copy.length)
    if (copy.length > 0) copy[at] = copy[at]! ^ (1 << within(random, 8))
    return copy
  },
  'garbage written': (file, random) => {
    const garbage = Buffer.from(Array.from({ length: 1 + within(random, 200) }, () => within(random, 256)))
    return spliced(file, within(random, file.length), within(random, 200), garbage)
  },
  'lines glued': onLines((lines, random) => {
    const at = within(random, lines.length - 1)
    return lines.toSpliced(at, 2, `${lines[at]}${lines[at + 1] ?? ''}`)
  }),
  'line lost': onLines((lines, random) => lines.toSpliced(within(random, lines.length), 1)),
  'line torn': onLines((lines, random) => {
    const at = within(random, lines.length)
    return lines.toSpliced(at, 1, lines[at]!.slice(0, within(random, lines[at]!.length)))
  }),
  'line twice': onLines((lines, random) => {
    const at = within(random, lines.length)
    return lines.toSpliced(within(random, lines.length), 0, lines[at]!)
  }),
  'lines swapped': onLines((lines, random) => {
    const [one, two] = [within(random, lines.length), within(random, lines.length)]
    return lines.with(one, lines[two]!).with(two, lines[one]!)
  }),
  'number changed': onLines((lines, random) => {
    const at = within(random, lines.length)
    const numbers = ['-1', '0', '1e400', '2147483648', '9007199254740993', '0.5', 'null', '"7"']
    return lines.with(at, lines[at]!.replace(/:\d+/, `:${numbers[within(random, numbers.length)]}`))
  }),
  'field lost': onLines((lines, random) => {
    const at = within(random, lines.length)
    return lines.with(at, lines[at]!.replace(/"[a-zA-Z]+":(null|\d+),/, ''))
  }),
  'kind changed': onLines((lines, random) => {
    const at = within(random, lines.length)
    const kinds = ['message', 'branch', 'turn', 'blob', 'header', 'end', 'conversation', 'dream', '__proto__']
    return lines.with(
      at,
      lines[at]!.replace(/"kind":"\w+"/, `"kind":"${kinds[within(random, kinds.length)]}"`),
    )
  }),
  'strange line': onLines((lines, random) => {
    const strange = [
      'null',
      '[]',
      '7',
      '"x"',
      '{}',
      '{"kind":7}',
      '{"kind":"message"}',
      '['.repeat(5_000),
      '}',
    ]
    return lines.toSpliced(within(random, lines.length), 0, strange[within(random, strange.length)]!)
  }),
  CRLF: onLines(lines => lines.map(line => `${line}\r`)),
  'empty lines': onLines(lines => lines.flatMap(line => [line, '', '  '])),
  'byte order mark': file => Buffer.concat([Buffer.from('\ufeff'), file]),
}
