import { item } from './json.ts'
import { firstBroken, type Headers } from './rule.ts'
import { anthropicRules } from './rules-anthropic.ts'
import { googleRules } from './rules-google.ts'
import { chatRules, openaiRules } from './rules-openai.ts'

/** Why the provider would refuse this request body, by its published rules; null if it would not. */
export const anthropicRefusal = (body: unknown, headers: Headers = {}): string | null =>
  firstBroken(anthropicRules, item(body), headers)

export const openaiRefusal = (body: unknown, headers: Headers = {}): string | null =>
  firstBroken(openaiRules, item(body), headers)

export const chatRefusal = (body: unknown, headers: Headers = {}): string | null =>
  firstBroken(chatRules, item(body), headers)

export const googleRefusal = (body: unknown, headers: Headers = {}): string | null =>
  firstBroken(googleRules, item(body), headers)
