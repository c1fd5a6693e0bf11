import { describe, expect, it } from 'vitest'
import { withoutSecrets } from '../../src/system/secrets.ts'

describe('withoutSecrets (R20)', () => {
  const secrets = [
    'sk-abcdefghijklmnop',
    'sk-proj-abc_def-ghi123456',
    'sk-ant-api03-AbCdEf123456',
    'sk-or-v1-0123456789abcdef',
    'sk_live_0123456789abcdef',
    'AIzaSyA-0123456789abcdefghijk',
    'ya29.a0AfH6SMBx-123',
    'gsk_0123456789abcdefghij',
    'xai-0123456789abcdef',
    'hf_abcdefghijklmnop',
    'r8_abcdefghijklmnop',
    'pplx-0123456789abcdef',
    'nvapi-0123456789abcdef',
    'ghp_0123456789abcdefghij',
    'gho_0123456789abcdefghij',
    'github_pat_11ABCDEFG0_abcdef',
    'glpat-0123456789abcdef',
    'npm_0123456789abcdefghij',
    'AKIAIOSFODNN7EXAMPLE',
    'ASIAIOSFODNN7EXAMPLE',
    'xoxb-0123456789-abcdef',
    'xoxp-0123456789-abcdef',
    'eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJ',
    'rk_live_0123456789abcdef',
    'csk-0123456789abcdef',
    'fw_0123456789abcdef',
    'dop_v1_0123456789abcdef',
  ]
  it.each(secrets)('replaces keys by their shape: %s', secret => {
    expect(withoutSecrets(`Incorrect API key provided: ${secret}. See https://example.com`)).not.toContain(
      secret,
    )
  })

  it.each([
    ['Authorization: Bearer abc.def', 'abc.def'],
    ['authorization: Basic dXNlcjpwYXNz', 'dXNlcjpwYXNz'],
    ['x-api-key: opaque-value', 'opaque-value'],
    ['x-goog-api-key: opaque-value', 'opaque-value'],
    ['https://h/v1?key=opaque-value&alt=sse', 'opaque-value'],
    ['https://h/v1?api_key=opaque', 'opaque'],
    ['{"apiKey":"opaque-value"}', 'opaque-value'],
    ['{"access_token": "opaque-value"}', 'opaque-value'],
    ['password=hunter22', 'hunter22'],
    ['https://me:hunter22@proxy.local/', 'hunter22'],
    ['secret: hunter22', 'hunter22'],
    ['auth-token=opaque-value', 'opaque-value'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----', 'MIIE'],
  ])('replaces values by the name before them: %s', (said, secret) => {
    expect(withoutSecrets(said)).not.toContain(secret)
  })

  it('replaces a given key of any shape and leaves other words alone', () => {
    expect(withoutSecrets('the key my own key is wrong', ['my own key'])).toBe('the key [key] is wrong')
    const plain =
      'messages.1: `tool_use` ids were found without `tool_result` blocks: call_1. The key is wrong: ask sk.'
    expect(withoutSecrets(plain)).toBe(plain)
  })
})
