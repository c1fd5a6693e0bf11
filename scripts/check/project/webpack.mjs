// Bundles bundled.mjs with webpack and ends with an error if webpack reports one.
import { fileURLToPath } from 'node:url'
import webpack from 'webpack'

const here = fileURLToPath(new URL('.', import.meta.url))
const output = { path: `${here}out`, filename: 'webpack.mjs', module: true, chunkFormat: 'module' }
webpack(
  {
    mode: 'production',
    target: 'node22',
    context: here,
    entry: './bundled.mjs',
    experiments: { outputModule: true },
    output,
  },
  (error, stats) => {
    const errors = error ? [error] : (stats?.toJson().errors ?? [])
    for (const { message } of errors) console.error(message)
    if (errors.length > 0) process.exitCode = 1
  },
)
