import type { NewBlock } from '../../core/block.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { RoleInput } from '../../core/message.ts'
import type { BranchInConversation } from '../../core/ports.ts'
import type { CaseContext } from './contract-case.ts'

/** The name of a message in the corpus, its conversation, its role and its content. */
type Said = readonly [name: string, place: Talk, role: RoleInput, content: string | readonly NewBlock[]]
export type Talk = 'code' | 'people' | 'trace'

const filler = (count: number) => 'lorem ipsum dolor sit amet '.repeat(count)
const log = Array.from({ length: 400 }, (_, i) => `[${i}] request ${i} answered in ${i % 7} ms`)

function text(words: string): NewBlock {
  return { type: 'text', text: words }
}

function file(mime: string, name: string, words: string): NewBlock {
  return { type: 'file', mime, name, data: Buffer.from(words).toString('base64') }
}

/** The messages of the search cases, oldest first, a minute apart. */
export const corpus: readonly Said[] = [
  ['path', 'code', 'user', 'The parser lives in src/core/search/tokenize.ts, next to query.ts'],
  ['url', 'code', 'user', 'See https://example.com/docs/getting-started?lang=en#install for more'],
  ['snake', 'code', 'assistant', 'call parse_json_body() before send_reply'],
  ['camel', 'code', 'assistant', 'getUserById is null when parseJsonBody fails; the HTTPServer stops'],
  ['kebab', 'code', 'user', 'run it with --dry-run and content-type: text/html'],
  ['version', 'code', 'assistant', 'upgraded to v1.2.3 on 2026-08-14 at 12:30'],
  ['rooms', 'people', 'user', 'meet in rooms 1-2 and 3'],
  ['chinese', 'people', 'user', '我们在北京讨论了数据库的连接问题'],
  ['japanese', 'people', 'user', '東京のサーバーが落ちました。データベースを再起動してください'],
  ['korean', 'people', 'user', '데이터베이스 연결이 끊어졌습니다'],
  ['mixed', 'people', 'assistant', '我用PostgreSQL数据库和SQLite'],
  ['arabic', 'people', 'user', 'قاعدة البيانات في المَدْرَسَة لا تستجيب'],
  ['russian', 'people', 'user', 'База данных не отвечает, Ёлка упала'],
  ['thai', 'people', 'user', 'ฐานข้อมูลไม่ตอบสนอง'],
  ['hindi', 'people', 'user', 'हिन्दी में लिखो'],
  ['emoji', 'people', 'assistant', 'deploy finished 🚀🎉 all green'],
  ['family', 'people', 'assistant', 'the crew 👩‍👩‍👧 flies to 🇩🇪 by 🚀'],
  ['accents', 'people', 'user', 'Ça va, naïve café in Zürich, Hauptstraße 5'],
  ['decomposed', 'people', 'assistant', 'cafe\u0301 society'],
  ['fullwidth', 'people', 'user', 'ＡＰＩ ｋｅｙ'],
  [
    'source',
    'code',
    'assistant',
    '```ts\nexport async function openStore(target: string): Promise<Store> {\n' +
      "  return target.startsWith('postgres://') ? pool(target) : file(target)\n}\n```",
  ],
  [
    'call',
    'trace',
    'assistant',
    [
      text('Let me read that.'),
      {
        type: 'tool_call',
        callId: 'c1',
        name: 'read_file',
        input: { path: 'lib/warehouse/shelf.py', options: { encoding: 'utf8', tags: ['tapir', 'ibex'] } },
      },
    ],
  ],
  [
    'output',
    'trace',
    'tool',
    [{ type: 'tool_result', callId: 'c1', output: [...log, 'the zebrafish swam off', ...log].join('\n') }],
  ],
  [
    'nested',
    'trace',
    'tool',
    [{ type: 'tool_result', callId: 'c2', output: { stdout: 'compiled', files: [{ name: 'bison.ts' }] } }],
  ],
  [
    'failure',
    'trace',
    'tool',
    [
      {
        type: 'tool_result',
        callId: 'c3',
        isError: true,
        output: "ENOENT: no such file or directory, open '/etc/quux.conf'",
      },
    ],
  ],
  [
    'thinking',
    'trace',
    'assistant',
    [{ type: 'thinking', text: 'Maybe the quokka leaks memory.' }, text('I will look into it.')],
  ],
  ['system', 'people', 'developer', 'A reviewer has joined: speak formally'],
  ['blob', 'code', 'user', `narwhal ${filler(7_500)} axolotl ${filler(3_000)} okapi`],
  [
    'blobs',
    'trace',
    'tool',
    [
      { type: 'tool_result', callId: 'c4', output: { stdout: `${filler(12_000)} okapi` } },
      { type: 'tool_result', callId: 'c5', output: { stdout: `${filler(900)} pangolin` } },
    ],
  ],
  [
    'rows',
    'trace',
    'tool',
    [{ type: 'tool_result', callId: 'c7', output: ['aardvark', ...Array(30).fill(filler(380)), 'okapi'] }],
  ],
  ['fox', 'people', 'user', 'the quick brown fox jumps over the lazy dog'],
  ['dog', 'people', 'assistant', 'brown, the quick dog; a fox that is quick and brown'],
  ['upper', 'code', 'assistant', 'WEBSOCKET handshake failed'],
  ['socket', 'code', 'user', 'new WebSocket(url), then webSocket.close()'],
  ['underscored', 'code', 'user', 'web_socket_timeout = 30'],
  ['apart', 'people', 'user', 'a web page about a socket wrench'],
  ['hash', 'code', 'assistant', 'commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b'],
  [
    'hostile',
    'people',
    'user',
    `'; DROP TABLE skein_messages; -- "quoted" 100% AND OR NOT NEAR(x) a:b {c} ^d`,
  ],
  ['nul', 'people', 'user', 'before\u0000after the null \ud800 lone'],
  ['mail', 'people', 'user', 'write to ada.lovelace@example.org'],
  [
    'coloured',
    'trace',
    'tool',
    [{ type: 'tool_result', callId: 'c6', output: '\u001b[31mgibbon\u001b[0m: 1' }],
  ],
  [
    'attached',
    'people',
    'user',
    [
      { type: 'file', mime: 'application/pdf', name: 'quarterly-report.pdf', data: 'aGVsbG8=' },
      { type: 'citation', source: { book: 'The Wombat Handbook' } },
    ],
  ],
  [
    'notes',
    'people',
    'user',
    [
      file('text/plain', 'notes.txt', 'die Elster stiehlt Löffel'),
      file('application/json', 'bird.json', '{"bird":"hoopoe"}'),
      file('application/octet-stream', 'bird.bin', 'kestrel'),
    ],
  ],
  ['manual', 'people', 'user', [file('text/markdown', 'manual.md', `# Merganser\n${filler(11_000)}petrel`)]],
]

/** Queries and the names of their hits, newest first. Each group is a case. */
export const found: Readonly<Record<string, readonly (readonly [query: string, ...names: string[]])[]>> = {
  'words in paths, addresses and mail': [
    ['tokenize.ts', 'path'],
    ['src/core/search', 'path'],
    ['search', 'path'],
    ['ts', 'nested', 'source', 'path'],
    ['query.ts tokenize', 'path'],
    ['example.com', 'url'],
    ['example', 'mail', 'url'],
    ['https://example.com/docs/getting-started', 'url'],
    ['getting-started', 'url'],
    ['started', 'url'],
    ['lovelace', 'mail'],
    ['ada.lovelace@example.org', 'mail'],
  ],
  'names in code, whole and by their parts': [
    ['parse', 'camel', 'snake'],
    ['parse_json_body', 'camel', 'snake'],
    ['parseJsonBody', 'camel', 'snake'],
    ['parsejsonbody', 'camel', 'snake'],
    ['jsonBody', 'camel', 'snake'],
    ['http', 'camel'],
    ['HTTPServer', 'camel'],
    ['userbyid', 'camel'],
    ['dry-run', 'kebab'],
    ['--dry-run', 'kebab'],
    ['dryrun', 'kebab'],
    ['text/html', 'kebab'],
    ['websocket', 'underscored', 'socket', 'upper'],
    ['WebSocket', 'underscored', 'socket', 'upper'],
    ['web socket', 'apart', 'underscored', 'socket'],
    ['"web socket"', 'underscored', 'socket'],
    ['openStore', 'source'],
    ["target.startsWith('postgres://')", 'source'],
    ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b', 'hash'],
  ],
  'numbers, versions and times': [
    ['2.3', 'version'],
    ['v1.2.3', 'version'],
    ['2026-08-14', 'version'],
    ['12:30', 'version'],
    ['12', 'output', 'version'],
    ['30', 'underscored', 'output', 'version'],
  ],
  'words of scripts without spaces': [
    ['北京', 'chinese'],
    ['数据库', 'mixed', 'chinese'],
    ['数据', 'mixed', 'chinese'],
    ['据', 'mixed', 'chinese'],
    ['库的连接', 'chinese'],
    ['京', 'japanese', 'chinese'],
    ['京北'],
    ['北 京', 'chinese'],
    ['数据库 PostgreSQL', 'mixed'],
    ['サーバー', 'japanese'],
    ['ｻｰﾊﾞｰ', 'japanese'],
    ['再起動', 'japanese'],
    ['데이터베이스', 'korean'],
    ['데이터베이스'.normalize('NFD'), 'korean'],
    ['연결', 'korean'],
    ['ข้อมูล', 'thai'],
    ['ตอบ', 'thai'],
  ],
  'words of other scripts with and without marks': [
    ['البيانات', 'arabic'],
    ['المدرسة', 'arabic'],
    ['المَدْرَسَة', 'arabic'],
    ['мазда'],
    ['ДАННЫХ', 'russian'],
    ['елка', 'russian'],
    ['ёлка', 'russian'],
    ['हिन्दी', 'hindi'],
    ['cafe', 'decomposed', 'accents'],
    ['café', 'decomposed', 'accents'],
    ['CAFE\u0301', 'decomposed', 'accents'],
    ['ca', 'accents'],
    ['zurich', 'accents'],
    ['ZÜRICH', 'accents'],
    ['hauptstrasse', 'accents'],
    ['hauptstraße', 'accents'],
    ['api key', 'fullwidth'],
  ],
  emoji: [
    ['🚀', 'family', 'emoji'],
    ['🎉', 'emoji'],
    ['🚀🎉', 'emoji'],
    ['🎉🚀'],
    ['👧', 'family'],
    ['🚀 -🎉', 'family'],
  ],
  'phrases, in order and next to each other': [
    ['"quick brown fox"', 'fox'],
    ['"brown fox"', 'fox'],
    ['quick brown fox', 'dog', 'fox'],
    ['"quick dog"', 'dog'],
    ['"the lazy dog" brown', 'fox'],
    ['"fox brown"'],
    ['"quick bro"'],
    ['"quick bro"*', 'fox'],
    ['"no such file or directory"', 'failure'],
    ['"memory I"'],
  ],
  'prefixes of words': [
    ['postgres*', 'source', 'mixed'],
    ['postgres', 'source'],
    ['postgresql', 'mixed'],
    ['websock*', 'underscored', 'socket', 'upper'],
    ['Haupt*', 'accents'],
    ['brow* laz*', 'fox'],
    ['getUser*', 'camel'],
    ['qu*', 'attached', 'hostile', 'dog', 'fox', 'thinking', 'failure', 'path'],
    ['zz*'],
  ],
  'messages without the excluded words': [
    ['quick -lazy', 'dog'],
    ['quick -"brown fox"', 'dog'],
    ['socket -web'],
    ['websocket -handshake', 'underscored', 'socket'],
    ['parse -send*', 'camel'],
    ['quick -quick'],
    ['dry-run', 'kebab'],
    ['example -docs', 'mail'],
  ],
  'tool inputs, tool outputs, thinking and the names of files': [
    ['read_file', 'call'],
    ['warehouse', 'call'],
    ['lib/warehouse/shelf.py', 'call'],
    ['utf8', 'call'],
    ['tapir', 'call'],
    ['ibex', 'call'],
    ['zebrafish', 'output'],
    ['"request 399"', 'output'],
    ['compiled', 'nested'],
    ['bison.ts', 'nested'],
    ['ENOENT', 'failure'],
    ['/etc/quux.conf', 'failure'],
    ['quokka', 'thinking'],
    ['quokka look', 'thinking'],
    ['reviewer', 'system'],
    ['gibbon', 'coloured'],
    ['quarterly-report.pdf', 'attached'],
    ['aGVsbG8'],
    ['wombat handbook', 'attached'],
  ],
  'the first 256 KiB of attached text files': [
    ['löffel', 'notes'],
    ['notes.txt elster', 'notes'],
    ['hoopoe', 'notes'],
    ['kestrel'],
    ['merganser', 'manual'],
    ['petrel'],
  ],
  'the first 256 KiB of each block, also in a blob': [
    ['narwhal', 'blob'],
    ['axolotl', 'blob'],
    ['pangolin', 'blobs'],
    ['aardvark', 'rows'],
    ['okapi'],
    ['lorem narwhal', 'blob'],
    ['"lorem ipsum" -narwhal -merganser', 'rows', 'blobs'],
  ],
  // `axolotl` is the 37,501st word of its blob.
  'phrases behind the 16,383rd word of a text': [
    ['"amet axolotl lorem"', 'blob'],
    ['axolotl ipsum', 'blob'],
    ['"axolotl ipsum"'],
  ],
  'hostile text': [
    ['DROP TABLE', 'hostile'],
    ["'; DROP TABLE skein_messages; --", 'hostile'],
    ['skein_messages', 'hostile'],
    ['100%', 'hostile', 'output'],
    ['AND OR NOT', 'hostile'],
    ['NEAR(x)', 'hostile'],
    ['a:b', 'hostile'],
    ['{c} ^d', 'hostile'],
    ['quick OR okapi'],
    ['null', 'nul', 'camel'],
    ['before after', 'nul'],
    ['lone', 'nul'],
    ['\\ % quick', 'dog', 'fox'],
  ],
  'messages of a role': [
    ['role:system', 'system'],
    ['role:developer', 'system'],
    ['role:tool', 'coloured', 'rows', 'blobs', 'failure', 'nested', 'output'],
    ['role:tool_result no', 'failure'],
    ['role:user quick', 'fox'],
    ['role:assistant quick', 'dog'],
    ['role:user role:assistant quick', 'dog', 'fox'],
    ['role:assistant websocket', 'upper'],
    ['quick role:system'],
  ],
}

/** The best match first. */
export const ranked: readonly (readonly [query: string, ...names: string[]])[] = [
  ['websocket', 'socket', 'underscored', 'upper'],
  ['quick brown', 'dog', 'fox'],
  ['ts', 'path', 'nested', 'source'],
  ['fox', 'fox', 'dog'],
  ['okapi'],
]

export const minute = 60_000

export interface Planted {
  readonly places: Readonly<Record<Talk, BranchInConversation>>
  readonly ids: Readonly<Record<string, MessageId>>
  /** The time of the message with this name. */
  at(name: string): Date
  nameOf(id: MessageId): string
  conversationOf(talk: Talk): ConversationId
}

/** Stores the corpus, each message at its time, and sets the clock an hour after the last one. */
export async function plant({ store, clock }: CaseContext): Promise<Planted> {
  const begin = clock.now
  const places = {
    code: await store.create({ key: 'cli:code', title: 'Code', directory: '/home/ada/code', channel: 'cli' }),
    people: await store.create({ key: 'discord:dm:7', title: 'People', channel: 'discord' }),
    trace: await store.create({ kind: 'subagent', directory: '/home/ada/code', label: 'subagent:reader:1' }),
  }
  const ids: Record<string, MessageId> = {}
  for (const [i, [name, talk, role, blocks]] of corpus.entries()) {
    clock.now = begin + i * minute
    const { branch } = places[talk]
    const { head } = await store.getBranch(branch)
    ids[name] = (await store.append(branch, head, [{ role, content: blocks }])).head
  }
  clock.now = begin + corpus.length * minute + 60 * minute
  const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]))
  return {
    places,
    ids,
    at: name => new Date(begin + corpus.findIndex(said => said[0] === name) * minute),
    nameOf: id => names.get(id) ?? id,
    conversationOf: talk => places[talk].conversation.id,
  }
}
