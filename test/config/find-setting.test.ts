import { describe, expect, it } from 'vitest'
import { findSetting, settingPaths, similarSettings } from '../../src/config/find-setting.ts'

describe('findSetting', () => {
  it('finds every declared setting, with a name in the place of <name>', () => {
    for (const declared of settingPaths()) {
      const typed = declared.replace('<name>', 'openai/gpt-5.5')
      expect(findSetting(typed), typed).toMatchObject({ declared, setting: expect.anything() })
    }
  })

  it.each([
    ['models.openai/gpt-5.5.window', ['models', 'openai/gpt-5.5', 'window']],
    ['models.gpt-5.5', ['models', 'gpt-5.5']],
    ['models.fast', ['models', 'fast']],
    ['mcp.files.env.LOG_LEVEL', ['mcp', 'files', 'env', 'LOG_LEVEL']],
    ['conversation', ['conversation']],
    ['mcp', ['mcp']],
  ])('%s', (typed, path) => {
    expect(findSetting(typed)?.path).toEqual(path)
  })

  it.each([
    ['conversation.max_token', 'conversation.max_tokens'],
    ['max_tokens', 'conversation.max_tokens'],
    ['models.fast.windw', 'models.fast.window'],
    ['server.lisen', 'server.listen'],
    ['modle', 'model'],
  ])('does not find %s, which is similar to %s', (typed, near) => {
    expect(findSetting(typed)).toBeNull()
    expect(similarSettings(typed)[0]).toBe(near)
  })

  it('finds nothing similar to nonsense', () => {
    expect(findSetting('nonsense.x')).toBeNull()
    expect(similarSettings('nonsense.xyzzy')).toEqual([])
  })
})
