import { type Rule, type SourceFile, type SyntaxNode, visit } from './source.ts'

/** These read all pages of a list into memory. */
const wholeReaders = ['collectPages', 'pathOf', 'allConversations']

/** The files that may, each with the reason why its lists are short, or needed as a whole. A new entry needs
 *  such a reason: elsewhere, `itemsOf` reads page by page. */
export const wholeListReasons: Readonly<Record<string, string>> = {
  'src/core/path.ts': 'pathOf is that function',
  'src/core/branch-names.ts': 'a new name is compared with all others; only the names are in memory',
  'src/core/copy-as-new.ts': 'the copy is one append, so it is in memory anyway',
  'src/adapters/ai-sdk/find-position.ts': 'only the newest siblings, as many as are compared',
  'src/adapters/ai-sdk/next-messages.ts': 'the caller asked for the whole history by giving no budget',
  'src/api/read-branches.ts':
    'branches and structure: which messages only one branch has depends on all of them',
  'src/formats/page/exported-conversation.ts':
    'the structure, which is split into lines; a page begins with a table of its branches',
  'src/server/turns/stored-turn.ts': 'the messages of one turn',
  'src/agent/interruption.ts': 'the calls of one answer, if it was interrupted',
  'src/cli/set-up/init.ts': 'ids, which are counted before a person is asked, and then moved one by one',
  'src/cli/target/scope.ts': 'the directories of one project, which are one filter',
  'src/cli/manage/rm.ts':
    'the structure, whose subtrees are cut; the conversations are counted before a person is asked',
  'src/cli/manage/trash.ts': 'a table: the widths of its columns depend on all rows',
  'src/cli/read/tree.ts': 'the structure: the tree is drawn from it',
  'src/context/summary/read-uncovered.ts': 'summaries: one for a full context window',
  'src/recorder/take-over.ts': 'open turns: at most one for each branch, and they end while they are read',
  'src/acp/sessions/delete-session.ts':
    'the names of its branches: another one is needed before the first goes',
  'src/acp/sessions/session-list.ts': 'sessions of one conversation, which clients forked one by one',
  'src/acp/seat/take-seat.ts': 'links of one branch: one for each agent and directory',
  'src/acp/proxy/client-requests.ts': 'the same',
  'src/cli/agent/agent.ts': 'the same',
  'src/cli/dispatch/task-commands.ts': 'dispatches of one task: as many as it was tried',
  'src/cli/serve/token.ts': 'access tokens, which people create',
}

/** No file of the product reads a whole list unless it is named above: with one of those functions, or in a
 *  loop over `itemsOf` that fills a collection of its surroundings. The contract in `src/testing` reads lists
 *  that it has written. */
export const noWholeLists: Rule = files =>
  files
    .filter(({ path }) => path.startsWith('src/') && !path.startsWith('src/testing/'))
    .flatMap(file =>
      [...wholeReads(file), ...filledByLoops(file)].map(fault => `${file.path}: reads a whole list ${fault}`),
    )

function wholeReads(file: SourceFile): readonly string[] {
  const found: string[] = []
  visit(file, node => {
    const name = calledName(node)
    if (name !== null && wholeReaders.includes(name)) found.push(`with ${name}`)
  })
  return found
}

const filling = ['push', 'unshift', 'add', 'set']

/** The loops over the items of a list that fill a collection which was declared before the loop. */
function filledByLoops(file: SourceFile): readonly string[] {
  const loops: (Extent & { readonly over: unknown })[] = []
  const lists: string[] = []
  const collections: (Extent & { readonly name: string })[] = []
  const filled: (Extent & { readonly name: string })[] = []
  visit(file, node => {
    const at = extentOf(node)
    if (node.type === 'ForOfStatement' && node.await) loops.push({ ...at, over: node.right })
    if (node.type === 'VariableDeclarator') {
      if (calledName(node.init) === 'itemsOf') lists.push(nameOf(node.id))
      if (isCollection(node.init)) collections.push({ ...at, name: nameOf(node.id) })
    }
    const { callee } = node as {
      readonly callee?: { readonly object?: unknown; readonly property?: unknown }
    }
    if (node.type === 'CallExpression' && filling.includes(nameOf(callee?.property)))
      filled.push({ ...at, name: nameOf(callee?.object) })
  })
  const isList = (over: unknown) => calledName(over) === 'itemsOf' || lists.includes(nameOf(over))
  return filled
    .filter(({ name, ...call }) =>
      loops.some(
        loop =>
          isList(loop.over) &&
          isWithin(call, loop) &&
          collections.some(one => one.name === name && !isWithin(one, loop)),
      ),
    )
    .map(({ name }) => `into ${name}`)
}

/** An array literal, or a new set or map. */
function isCollection(node: unknown): boolean {
  const { type, callee } = (node ?? {}) as Partial<SyntaxNode>
  return type === 'ArrayExpression' || (type === 'NewExpression' && ['Map', 'Set'].includes(nameOf(callee)))
}

/** Where a node is in its file. */
interface Extent {
  readonly start: number
  readonly end: number
}

function extentOf({ start, end }: SyntaxNode): Extent {
  return { start: start as number, end: end as number }
}

function isWithin(inner: Extent, outer: Extent): boolean {
  return outer.start <= inner.start && inner.end <= outer.end
}

/** The name of an identifier. Empty for another node. */
function nameOf(node: unknown): string {
  const { name } = (node ?? {}) as { readonly name?: unknown }
  return typeof name === 'string' ? name : ''
}

/** The name of the function that a node calls, or null. */
function calledName(node: unknown): string | null {
  const { type, callee } = (node ?? {}) as Partial<SyntaxNode>
  return type === 'CallExpression' ? nameOf(callee) : null
}
