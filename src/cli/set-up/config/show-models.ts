import { fullModelName } from '../../../api/full-model-name.ts'
import { readConfig } from '../../../config/read-config.ts'
import { windowOf } from '../../../context/fit/model-windows.ts'
import type { CommandHandler } from '../../command-line/command.ts'
import { exitCode } from '../../command-line/exit-code.ts'
import { chooseModel } from '../../model/choose-model.ts'
import { settingsOfModel } from '../../model/model-settings.ts'
import { missingKey, providers } from '../../model/provider-keys.ts'
import { formatCount } from '../../output/number.ts'
import { printNote } from '../../output/print.ts'
import { tableLines } from '../../output/table.ts'

/** Short names that need no configuration. */
const shortNames = ['sonnet', 'opus', 'haiku', 'gpt', 'gemini']

/** `skein config models`: short names of models, and which of them lack a key. */
export const configModelsCommand: CommandHandler = async (_args, context) => {
  const { out, env } = context
  const config = await readConfig(context.cwd, env)
  const chosen = chooseModel({ arguments: [], options: {} }, env, config)
  const named = new Map<string, string>()
  for (const name of [...shortNames, ...Object.keys(config.models)])
    named.set(name, fullModelName(name, config.models))
  const models = [...named].map(([name, id]) => entryOf(name, id))
  const others = providers.map(({ example }) => example).filter(id => !models.some(model => model.id === id))
  models.push(...others.map(id => entryOf(id, id)), entryOf('scripted', 'scripted'))
  if (context.json) {
    out.line(JSON.stringify(models))
    return exitCode.ok
  }
  const { safe } = out.style
  const rows = models.map(({ name, id, window, missing_key, is_default }) =>
    [
      is_default ? '*' : '',
      name === id && out.isTerminal ? '' : name,
      id,
      formatCount(window),
      missing_key === null ? '' : `needs ${missing_key}`,
    ].map(safe),
  )
  if (!out.isTerminal) for (const row of rows) out.line(row.join('\t'))
  else {
    const columns = [
      {},
      { header: 'NAME', gap: ' ', paint: out.style.title },
      { header: 'MODEL', shrinksTo: 12 },
      { header: 'WINDOW', align: 'right' },
      { header: 'KEY', shrinksTo: 12, drops: true },
    ] as const
    const options = { dots: out.style.symbols.dots, paintHeader: out.style.faint }
    for (const line of tableLines(rows, columns, out.width, options)) out.line(line)
    printNote(context, `* is asked when none is named. Any other: -m ${providers[0]!.example}`)
  }
  return exitCode.ok

  function entryOf(name: string, id: string) {
    const window = settingsOfModel(config, id).window ?? windowOf(id).limit
    return { name, id, window, missing_key: missingKey(id, env, config), is_default: id === chosen.id }
  }
}
