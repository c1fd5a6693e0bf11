import { join } from 'node:path'
import { isBuilt } from './build/source-stamp.ts'

/** Builds if a source has changed since the last build: `npm start` calls it each time. The bundler is loaded
 *  only to build. */
if (!isBuilt(join(import.meta.dirname, '..'))) {
  console.error('building, once …')
  await import('./build.ts')
}
