/** Ten turns of coding work with 40 facts that the next agent needs: decisions, a specification, commands
 *  with their results, edited files and answers. Used by the stubs of the gate and by `npm run agents`. */

/** One turn of it. */
export interface CodingTurn {
  /** The name of its question: `MARK-<name>`. */
  readonly name: string
  /** The message of the user. */
  readonly words: string
  /** A command that the agent runs, with its output. The quotes in it keep the words of the output out of it:
   *  agents repeat commands in many places. */
  readonly command?: { readonly line: string; readonly output: string; readonly exitCode: number }
  /** A file that the agent edits. */
  readonly edit?: { readonly path: string; readonly before: string; readonly after: string }
  readonly answer: string
}

/** A fact, as a text that must occur. */
export interface CodingFact {
  readonly kind: 'decision' | 'spec' | 'command' | 'result' | 'file' | 'answer'
  readonly text: string
}

const clauses = Array.from(
  { length: 60 },
  (_, i) => `${i + 1}. Field ${i + 1} has a name, a type and a width of ${i + 3} columns.`,
)

/** A specification of about 3.6 kB, with facts at its beginning, in its middle and at its end. */
const spec = [
  'SPEC-BEGIN: records are separated by U+001E.',
  ...clauses.slice(0, 30),
  'SPEC-MIDDLE: empty fields are kept.',
  ...clauses.slice(30),
  'SPEC-END: the last record has no separator.',
].join('\n')

const noise = (lines: number) =>
  Array.from({ length: lines }, (_, i) => `  ok ${i + 1} - case ${i + 1}`).join('\n')

export const codingTurns: readonly CodingTurn[] = [
  turn(
    'goal',
    'We write a parser for ledger files. DECISION-tabs: indent with tabs.',
    'ANSWER-goal: understood.',
  ),
  turn(
    'spec',
    `This is the format. DECISION-strict: refuse unknown fields.\n${spec}`,
    'ANSWER-spec: read all 60 fields.',
  ),
  {
    ...turn(
      'look',
      'Look at the repository. DECISION-nodeps: no new dependencies.',
      'ANSWER-look: three files.',
    ),
    command: {
      line: 'echo src/lexer.ts src/ledger.ts RESULT-"look"',
      output: 'src/lexer.ts src/ledger.ts RESULT-look\n',
      exitCode: 0,
    },
  },
  {
    ...turn('lexer', 'Write the lexer.', 'ANSWER-lexer: it yields tokens.'),
    edit: { path: 'src/lexer.ts', before: 'a\nb\n', after: 'a\nb\nc\nd\ne\n' },
    command: {
      line: 'echo compile lexer RESULT-"lexer"',
      output: 'compile lexer RESULT-lexer\n',
      exitCode: 0,
    },
  },
  {
    ...turn('test', 'Run the tests. DECISION-vitest: tests use vitest.', 'ANSWER-test: one fails.'),
    command: {
      line: `printf '%s\\n' "${noise(3)}"; echo "AssertionError: expected 3 RESULT-""test"; exit 1`,
      output: `${noise(3)}\nAssertionError: expected 3 RESULT-test\n`,
      exitCode: 1,
    },
  },
  {
    ...turn('fix', 'Fix it. DECISION-immutable: never mutate tokens.', 'ANSWER-fix: an off-by-one.'),
    edit: { path: 'src/ledger.ts', before: 'x\n', after: 'y\n' },
    command: {
      line: 'echo patched src/ledger.ts RESULT-"fix"',
      output: 'patched src/ledger.ts RESULT-fix\n',
      exitCode: 0,
    },
  },
  {
    ...turn('bench', 'Measure it. DECISION-budget: at most 20 ms for 1 MB.', 'ANSWER-bench: fast enough.'),
    command: {
      line: `i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo "run $i: 17 ms"; done; echo "median 17 ms RESULT-""bench"`,
      output: `${Array.from({ length: 200 }, (_, i) => `run ${i + 1}: 17 ms`).join('\n')}\nmedian 17 ms RESULT-bench\n`,
      exitCode: 0,
    },
  },
  {
    ...turn('docs', 'Document it. DECISION-english: plain English.', 'ANSWER-docs: one page.'),
    edit: { path: 'docs/format.md', before: '', after: '# Format\n' },
    command: {
      line: 'echo wrote docs/format.md RESULT-"docs"',
      output: 'wrote docs/format.md RESULT-docs\n',
      exitCode: 0,
    },
  },
  {
    ...turn('lint', 'Lint it.', 'ANSWER-lint: two warnings.'),
    command: {
      line: 'echo lint: 2 warnings RESULT-"lint"',
      output: 'lint: 2 warnings RESULT-lint\n',
      exitCode: 0,
    },
  },
  turn('thanks', 'Thanks. DECISION-release: release it on Friday as 0.2.0.', 'ANSWER-thanks: noted.'),
]

function turn(name: string, words: string, answer: string): CodingTurn {
  return { name, words: `MARK-${name} ${words}`, answer }
}

/** The 40 facts of the conversation. */
export const codingFacts: readonly CodingFact[] = [
  ...factsOf(
    'decision',
    codingTurns.flatMap(({ words }) => words.match(/DECISION-\w+: [^.\n]+/g) ?? []),
  ),
  ...factsOf('spec', spec.match(/SPEC-\w+: [^.]+/g) ?? []),
  ...factsOf(
    'command',
    codingTurns.flatMap(({ command }) => (command ? [command.line.slice(0, 24)] : [])),
  ),
  ...factsOf(
    'result',
    codingTurns.flatMap(({ command }) => command?.output.match(/RESULT-\w+(?=\n)/g) ?? []),
  ),
  ...factsOf('file', ['lexer.ts', 'ledger.ts', 'format.md', '0.2.0', 'vitest']),
  ...factsOf(
    'answer',
    codingTurns.map(({ answer }) => answer),
  ),
]

function factsOf(kind: CodingFact['kind'], texts: readonly string[]): readonly CodingFact[] {
  return texts.map(text => ({ kind, text }))
}

/** How many of the facts a text has, and those that it lacks. */
export function factsIn(text: string): { readonly found: number; readonly missing: readonly CodingFact[] } {
  const plain = text.replaceAll(/\s+/g, ' ')
  const missing = codingFacts.filter(fact => !plain.includes(fact.text.replaceAll(/\s+/g, ' ')))
  return { found: codingFacts.length - missing.length, missing }
}

/** The file that an injected history names; null if it names none. */
export function transcriptIn(text: string): string | null {
  return /is in (\/\S+\.md): read or search/.exec(text)?.[1] ?? null
}
