import { mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { providerVariables, setVariable } from '../../../config/provider-settings.ts'
import { readConfig } from '../../../config/read-config.ts'
import { keysFile, readStoredKeys } from '../../../config/stored-keys.ts'
import { similarWords } from '../../../core/similar-words.ts'
import type { CommandHandler } from '../../command-line/command.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import { exitCode } from '../../command-line/exit-code.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { keySource, providers } from '../../model/provider-keys.ts'
import { noteLine, printNote } from '../../output/print.ts'
import { tableLines } from '../../output/table.ts'
import { tildify } from '../../output/tildify.ts'
import { writeNewFile } from '../../transfer/new-file.ts'
import { readSecret } from './read-secret.ts'

/** `skein config keys`: stores API keys in a file that only the user can read. A key is never printed. */
export const configKeysCommand: CommandHandler = async (args, context) => {
  const [verb = 'ls', name] = args.arguments
  if (verb === 'ls') {
    if (name !== undefined) throw new UsageError(`keys ls takes no name`, 'skein config keys')
    await list(context)
    return exitCode.ok
  }
  if (verb !== 'set' && verb !== 'rm')
    throw new UsageError(`config keys has no verb ${verb}`, 'skein config keys ls, set or rm')
  if (name === undefined)
    throw new UsageError(`keys ${verb} needs a provider`, `As in: skein config keys ${verb} anthropic`)
  const provider = providerNamed(name)
  if (verb === 'set') await store(provider, context)
  else remove(provider, context)
  return exitCode.ok
}

/** Throws UsageError for an unknown provider. */
function providerNamed(name: string): string {
  const known = Object.keys(providerVariables)
  if (known.includes(name.toLowerCase())) return name.toLowerCase()
  if (/^(sk-|AIza|xai-)/.test(name))
    throw new UsageError(
      'that looks like a key, not like a provider',
      'Type the key when it is asked for: it would stay in the history of your shell',
    )
  const [near] = similarWords(name, known)
  throw new UsageError(
    `there is no provider ${name}`,
    near === undefined ? `Providers: ${known.join(', ')}` : `Did you mean ${near}?`,
  )
}

async function list(context: CommandContext): Promise<void> {
  const { out, env } = context
  const config = await readConfig(context.cwd, env)
  const keys = providers.map(provider => ({ provider, source: keySource(provider, env, config) }))
  if (context.json) {
    const rows = keys.map(({ provider, source }) => ({
      provider: provider.name,
      set: source !== null,
      from: source === null ? null : 'variable' in source ? source.variable : source.file,
    }))
    out.line(JSON.stringify(rows))
    return
  }
  const rows = keys.map(({ provider, source }) => [
    provider.name,
    source === null ? 'not set' : 'set',
    source === null
      ? provider.variables.join(' or ')
      : 'variable' in source
        ? source.variable
        : tildify(source.file, env),
  ])
  if (!out.isTerminal) for (const row of rows) out.line(row.join('\t'))
  else {
    const columns = [{ header: 'PROVIDER' }, { header: 'KEY' }, { header: 'FROM', shrinksTo: 12 }]
    const options = { dots: out.style.symbols.dots, paintHeader: out.style.faint }
    for (const line of tableLines(rows, columns, out.width, options)) out.line(line)
  }
}

async function store(provider: string, context: CommandContext): Promise<void> {
  const { env, err } = context
  const key = (await typedKey(provider, context)).trim()
  if (key === '') throw new UsageError('the key is empty', 'Nothing was changed')
  if (/\s/.test(key) || /[^\x21-\x7e]/.test(key))
    throw new UsageError(
      'that is not a key: it has spaces or other characters that no key has',
      'Nothing was changed',
    )
  write({ ...readStoredKeys(env), [provider]: key }, context)
  if (context.json) context.out.line(JSON.stringify({ provider, file: keysFile(env) }))
  const { dot } = err.style.symbols
  printNote(context, `stored the key of ${provider} in ${tildify(keysFile(env), env)}, readable by you alone`)
  const variable = setVariable(providerVariables[provider]!.key, env)
  if (variable !== null && !context.quiet && !context.json)
    err.line(noteLine(`${variable} is set and wins over it`, err))
  else printNote(context, `try it: skein doctor --online ${dot} ask: skein "hello"`)
}

async function typedKey(provider: string, context: CommandContext): Promise<string> {
  if (context.canAsk) return readSecret(`key of ${provider}, which is not shown: `, context)
  return readAll(context.stdin)
}

function remove(provider: string, context: CommandContext): void {
  const { env } = context
  const { [provider]: found, ...rest } = readStoredKeys(env)
  if (context.json) context.out.line(JSON.stringify({ provider, removed: found !== undefined }))
  if (found === undefined) {
    printNote(context, `no key of ${provider} is stored in ${tildify(keysFile(env), env)}`)
    return
  }
  if (Object.keys(rest).length === 0) rmSync(keysFile(env), { force: true })
  else write(rest, context)
  printNote(context, `removed the key of ${provider} from ${tildify(keysFile(env), env)}`)
}

function write(keys: Readonly<Record<string, string>>, { env }: CommandContext): void {
  const file = keysFile(env)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeNewFile(file, `${JSON.stringify(keys, null, 2)}\n`, true)
}
