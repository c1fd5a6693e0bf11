import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sourceCommand } from './cli/built-command.ts'
import { home } from './cli/skein.ts'
import { coverageFolder, itemsOf, pathsIn, root, stationsOf } from './support/map-walk.ts'

const isMissing = (path: string) => !existsSync(join(root, path))

describe('docs/map.md', () => {
  it('names only existing files of each folder in the reading order', () => {
    const paths = itemsOf('Reading order').flatMap(item => {
      const [folder] = pathsIn(item)
      const files = [...item.matchAll(/`([\w/-]+(?:\.ts|\/))`/g)].map(([, path]) => path!)
      return files.map(path => (path.startsWith('src/') ? path : join(folder!, path)))
    })
    expect(paths.length).toBeGreaterThan(30)
    expect(paths.filter(isMissing)).toEqual([])
  })

  it('lists every folder of src in the reading order', () => {
    const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).filter(one => one.isDirectory())
    const listed = itemsOf('Reading order').flatMap(pathsIn)
    expect(folders.map(({ name }) => `src/${name}/`).filter(path => !listed.includes(path))).toEqual([])
  })

  it('walks a prompt through at most ten files, which all run', () => {
    const stations = stationsOf('Walk 1')
    expect(stations.length).toBeGreaterThan(5)
    expect(stations.length).toBeLessThanOrEqual(10)
    using here = home()
    using coverage = coverageFolder()
    const env = { ...here.env, ...coverage.env }
    const { status } = spawnSync(process.execPath, [sourceCommand, 'hi'], { cwd: here.cwd, env })
    expect(status).toBe(0)
    const ran = coverage.filesThatRan()
    expect(stations.filter(path => !ran.has(path))).toEqual([])
  })
})
