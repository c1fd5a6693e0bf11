import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { strangeEnvironment } from '../../test/support/place.ts'
import { type Postgres, startPostgres } from '../../test/support/postgres.ts'
import {
  type DocExample,
  isAsPromised,
  promisedOutput,
  readDocExamples,
  readPageExamples,
} from '../api/examples.ts'
import { root, run } from './command.ts'
import { linkPacked } from './packed.ts'
import { passed, type Step } from './step.ts'

/** Every `@example` of a doc comment, and the code of the pages for developers, are programs: they compile
 *  against the packed package, run to their end in an empty folder, and print what their comments say. */
export const docExamples: Step = {
  name: 'doc-examples',
  async run(place) {
    // The longest program, a whole contract, is among the pages.
    const examples = [...readPageExamples(), ...readDocExamples()]
    await linkPacked(place)
    const files = writeProject(place, examples)
    await run('tsc', ['-p', place])
    const server = await startPostgres()
    try {
      const waiting = examples.map((example, index) => ({ example, file: files[index]! })).values()
      const worker = async () => {
        for (const { example, file } of waiting) await runExample(example, file, server)
      }
      await Promise.all(Array.from({ length: availableParallelism() }, worker))
    } finally {
      await server.stop()
    }
    return passed(examples.length)
  },
}

async function runExample({ place, code }: DocExample, file: string, server: Postgres): Promise<void> {
  const cwd = `${file}-run`
  mkdirSync(cwd)
  const database = code.includes('DATABASE_URL') ? { DATABASE_URL: await server.createDatabase() } : {}
  const env = { ...strangeEnvironment(cwd, process.env), ...database }
  const output = await run(process.execPath, [file], { cwd, env })
  const promised = promisedOutput(code)
  if (!isAsPromised(promised, output))
    throw new Error(`the example at ${place} promises:\n${promised.join('\n')}\nand prints:\n${output}`)
}

/** The files of a project, one for each example. */
function writeProject(folder: string, examples: readonly DocExample[]): readonly string[] {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
  const settings = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { rootDir: '.', typeRoots: [join(root, 'node_modules/@types')] },
    include: ['*.ts', '*/*.ts'],
    exclude: ['node_modules'],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  return examples.map(({ place, code, file: name }, index) => {
    // The compiler reports the name of the file, which leads to the comment.
    const file = join(folder, name ?? `${index}-${place.replaceAll(/[/:]/g, '.')}.ts`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${code}\n\nexport {}\n`)
    return file
  })
}
