import fc from 'fast-check'

/** Texts that have caused bugs in other programs. */
export const hostileTexts: readonly string[] = [
  // Against code that concatenates statements.
  "'; drop table skein_messages; --",
  '" or ""="',
  "' or '1'='1",
  '$1 $$ $tag$ @tenant :name ?1 %s {0}',
  '%',
  '_',
  '\\',
  '\\x00',
  "E'\\n'",
  '*" OR NEAR(',
  'a & b | !c <-> d:*',
  // Against code that stores bytes.
  '\0',
  'a\0b',
  '\ud800',
  'a\udc00b',
  '\ud83d',
  '\ufeffbom',
  '\uffff\ufffe',
  '\u0001\u0007\u001b[31m\u009b',
  'new\nline\r\nand\u2028more\u2029',
  '\t',
  ' ',
  ' key ',
  // Against code that compares.
  'é',
  'e\u0301',
  'KEY',
  'key',
  'ſ',
  'ß',
  'İ',
  '\u212a',
  '👩‍👩‍👧‍👦',
  '\u202ertl\u202c',
  '\u2066left\u2069',
  'مرحبا',
  '\u200b',
  'a\u0300\u0301\u0302\u0303',
  '😀'.repeat(128),
  // Against code that uses objects as maps.
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'null',
  'undefined',
  // Against parsers.
  '{"$blob":"x"}',
  '$blob',
  '["\\u0000"]',
  'key:value tag:"x',
  '"unclosed',
  '-',
  'a:b:c',
  '../../etc/passwd',
  '0',
  '-1',
  '1e400',
  // Against code that measures.
  '',
  'x'.repeat(512),
  'x'.repeat(513),
  'é'.repeat(257),
  'i'.repeat(10_000),
  `${'w '.repeat(9_000)}end`,
]

/** More of the kind: parts of the texts above, and arbitrary characters, including lone surrogates. */
export const hostileText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.constantFrom(...hostileTexts.filter(text => text.length < 40)),
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.string({ unit: 'grapheme', maxLength: 8 }),
      fc.integer({ min: 0, max: 0xffff }).map(unit => String.fromCharCode(unit)),
    ),
    { maxLength: 6 },
  )
  .map(pieces => pieces.join(''))
