import { describe, expect, it } from 'vitest'
import { PreconditionFailedError } from '../../src/core/conditional-writer.ts'
import {
  AmbiguousIdError,
  BusyError,
  ConflictError,
  ContextLengthError,
  CorruptError,
  type ErrorCode,
  ExpiredError,
  InvalidError,
  KeyReusedError,
  MisconfiguredError,
  MissingKeyError,
  ModelError,
  NotFoundError,
  OutcomeUnknownError,
  OwnedError,
  ReadOnlyError,
  SchemaTooNewError,
  SkeinError,
  StorageFullError,
  UnavailableError,
} from '../../src/core/errors.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'

const m = (letter: string) => letter.repeat(32) as MessageId
const c = '0b6f54a1-9db1-4e7c-8f3a-5d2c7e9a1b04' as ConversationId
const holder = { host: 'desk', boot: 'b1', pid: 42, startedAt: 0 }

const examples: Record<ErrorCode, readonly [SkeinError, string]> = {
  not_found: [new NotFoundError('branch', 'main'), 'there is no branch "main"'],
  conflict: [
    new ConflictError('main', null, m('a')),
    `branch "main" has moved: expected head (empty), found ${m('a')}`,
  ],
  precondition_failed: [
    new PreconditionFailedError(7),
    'the conversation has changed since it was read: it has version 7',
  ],
  key_reused: [new KeyReusedError('cli:x', 'the key is taken'), 'the key is taken'],
  busy: [
    new BusyError('branch main', holder, new Date(0)),
    'branch main is held by process 42 on desk until 1970-01-01T00:00:00.000Z',
  ],
  invalid: [new InvalidError('label', 'must not be empty'), 'label: must not be empty'],
  ambiguous_id: [
    new AmbiguousIdError('aaaaaa', [
      { kind: 'message', id: m('a') },
      { kind: 'conversation', id: c },
    ]),
    `"aaaaaa" fits 2 ids: message ${m('a')}, conversation ${c}`,
  ],
  storage_full: [new StorageFullError('the disk is full'), 'the disk is full'],
  read_only: [new ReadOnlyError('the store cannot be written'), 'the store cannot be written'],
  corrupt: [new CorruptError('a body is damaged'), 'a body is damaged'],
  schema_too_new: [
    new SchemaTooNewError(9, 1),
    'the store has schema version 9, this version of skein knows 1: upgrade skein to open it',
  ],
  outcome_unknown: [new OutcomeUnknownError('the connection broke'), 'the connection broke'],
  unavailable: [new UnavailableError('the store is locked'), 'the store is locked'],
  misconfigured: [
    new MisconfiguredError('node', 'this is Node 20.1.0: Skein needs Node 22.14 or newer'),
    'this is Node 20.1.0: Skein needs Node 22.14 or newer',
  ],
  expired: [new ExpiredError('the lease ran out'), 'the lease ran out'],
  model_failed: [new ModelError('openai/gpt-5', 'too many requests'), 'openai/gpt-5: too many requests'],
  context_length: [new ContextLengthError('too much was said'), 'too much was said'],
  missing_key: [
    new MissingKeyError('openai', 'OPENAI_API_KEY'),
    'there is no key for openai: set OPENAI_API_KEY',
  ],
  owned: [
    new OwnedError(c, 'claude-code'),
    `conversation ${c} belongs to "claude-code", which alone writes it: continue it there, or continue a copy (copyAsNewConversation, skein fork)`,
  ],
}

describe('every error', () => {
  it.each(Object.entries(examples))(
    '%s has its code, its name and a message of one line',
    (code, [error, line]) => {
      expect(error.code).toBe(code)
      expect(error.message).toBe(line)
      expect(error).toBeInstanceOf(SkeinError)
      expect(error.name).toBe(error.constructor.name)
      expect(error.stack).toContain(error.name)
    },
  )

  it('has the next step in its hint, or null', () => {
    const error = new UnavailableError('the store is locked', { hint: 'Try\nagain', pid: 42 })
    expect(error).toMatchObject({ hint: 'Try\\u000aagain', pid: 42 })
    expect(new UnavailableError('the store is locked')).toMatchObject({ hint: null, pid: null })
  })

  it('keeps its cause', () => {
    const cause = new Error('SQLITE_FULL')
    expect(new StorageFullError('full', { cause }).cause).toBe(cause)
  })
})

describe('the facts of an error', () => {
  it('are in its fields, unchanged', () => {
    expect(new ConflictError('main', m('a'), null)).toMatchObject({
      branch: 'main',
      expected: m('a'),
      actual: null,
    })
    expect(new InvalidError('query', 'unclosed quote', 7)).toMatchObject({ field: 'query', position: 7 })
    expect(new InvalidError('label', 'no')).toMatchObject({ position: null })
    expect(new BusyError('x', null, null)).toMatchObject({
      holder: null,
      leaseUntil: null,
      message: 'x is held',
    })
    expect(new SchemaTooNewError(9, 1)).toMatchObject({ found: 9, known: 1 })
  })

  it('include whether the item is in the trash', () => {
    const error = new NotFoundError('conversation', c, { trashed: true })
    expect(error).toMatchObject({
      trashed: true,
      message: `conversation "${c}" is in the trash: restore it first`,
    })
    expect(new NotFoundError('conversation', c).trashed).toBe(false)
  })
})

describe('the message of an error', () => {
  const hostile = '\u001b]0;title\u0007\u009b31m\r\n\u2028\u202eback\u2066\u007f\ud800'
  const lines = [
    new NotFoundError('id', hostile),
    new ConflictError(hostile, hostile as MessageId, hostile as MessageId),
    new KeyReusedError(hostile, `key ${hostile} is taken`),
    new BusyError(`branch ${hostile}`, { ...holder, host: hostile }, null),
    new InvalidError(`meta.${hostile}`, `got ${hostile}`),
    new AmbiguousIdError(hostile, [{ kind: 'message', id: hostile as MessageId }]),
    new StorageFullError(hostile),
    new ReadOnlyError(hostile),
    new CorruptError(hostile),
    new OutcomeUnknownError(hostile),
    new UnavailableError(hostile),
    new MisconfiguredError('path', hostile),
    new ExpiredError(hostile),
  ]

  it.each(lines.map(error => [error.code, error] as const))('cannot control a terminal: %s', (_, error) => {
    expect(error.message).not.toMatch(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u)
    expect(error.message).toContain('u001b]0;title')
  })

  it('keeps the letters of every language', () => {
    expect(new NotFoundError('key', 'größe 語 👨‍👩‍👧').message).toBe('there is no key "größe 語 👨‍👩‍👧"')
  })

  it('stays short, whatever it quotes', () => {
    const long = 'x'.repeat(100_000)
    expect(new NotFoundError('id', long).message.length).toBeLessThan(120)
    expect(new InvalidError(long, 'must be text').message).toHaveLength(215)
    expect(new InvalidError(long, 'must be text').field).toBe(long)
  })
})
