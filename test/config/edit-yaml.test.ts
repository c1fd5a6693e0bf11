import { describe, expect, it } from 'vitest'
import { parseYamlValue, setInYaml, unsetInYaml } from '../../src/config/edit-yaml.ts'

const file = `# mine
model:   fast   # quick one

models: {fast: openai/x}
conversation:
    max_tokens: 10 # cap
    # trailing
    max_age: 3d
`

describe('setInYaml', () => {
  it('replaces a single value and not another byte', async () => {
    expect(await setInYaml(file, ['model'], 'a: b', 'f')).toBe(file.replace('fast   #', '"a: b"   #'))
    expect(await setInYaml(file, ['conversation', 'max_tokens'], 500, 'f')).toBe(file.replace('10', '500'))
  })

  it('adds a value with the comments, the order and the indentation of the file', async () => {
    const text = await setInYaml(file, ['conversation', 'load_limit'], 5, 'f')
    expect(text).toContain('    # trailing\n    max_age: 3d\n    load_limit: 5\n')
    expect(text).toContain('# mine\nmodel: fast # quick one\n\nmodels: {fast: openai/x}\n')
    expect(await setInYaml(file, ['tools', 'allow'], ['a', 'b'], 'f')).toContain(
      'tools:\n    allow:\n        - a\n        - b\n',
    )
  })

  it('makes a file, fills an empty section, and keeps a file of comments', async () => {
    expect(await setInYaml('', ['model'], 'x', 'f')).toBe('model: x\n')
    expect(await setInYaml('conversation:\n', ['conversation', 'max_age'], '3d', 'f')).toBe(
      'conversation:\n  max_age: 3d\n',
    )
    expect(await setInYaml('# a\n', ['model'], 'x', 'f')).toBe('# a\n\nmodel: x\n')
  })

  it('refuses a text that is not YAML, and a value in place of a mapping', async () => {
    await expect(setInYaml('a: [', ['model'], 'x', 'f')).rejects.toThrow('f:1: is not valid YAML')
    await expect(setInYaml('- a\n', ['model'], 'x', 'f')).rejects.toThrow('f: is not a mapping')
    await expect(setInYaml('tools: all\n', ['tools', 'allow'], ['x'], 'f')).rejects.toThrow(
      'f tools: is not a mapping',
    )
  })
})

describe('unsetInYaml', () => {
  it('removes a value, and the sections that become empty', async () => {
    expect(await unsetInYaml(file, ['conversation', 'max_tokens'], 'f')).toContain(
      'conversation:\n    # trailing\n    max_age: 3d\n',
    )
    expect(await unsetInYaml('model: x\ntools:\n  allow: [a]\n', ['tools', 'allow'], 'f')).toBe('model: x\n')
    expect(await unsetInYaml('# c\nmodel: x\n', ['model'], 'f')).toBe('# c\n')
    expect(await unsetInYaml('model: x\n', ['model'], 'f')).toBe('')
    expect(await unsetInYaml(file, ['server'], 'f')).toBe(file)
  })
})

it('parseYamlValue reads a value as a file would have it', async () => {
  const values = await Promise.all(['10', 'on', '[a, b]', '30d', '"7"', 'a: [', '{a: 1}'].map(parseYamlValue))
  expect(values).toEqual([10, 'on', ['a', 'b'], '30d', '7', 'a: [', { a: 1 }])
})
