import { type Rule, visit } from './source.ts'

/** These read all pages of a list into memory. */
const wholeReaders = ['collectPages', 'pathOf', 'allConversations']

/** The files that may, each with the reason why its lists are short, or needed as a whole. A new entry needs
 *  such a reason: elsewhere, `itemsOf` reads page by page. */
export const wholeListReasons: Readonly<Record<string, string>> = {
  'src/core/path.ts': 'pathOf is that function',
  'src/core/copy-as-new.ts': 'the copy is one append, so it is in memory anyway',
  'src/adapters/ai-sdk/next-messages.ts': 'the caller asked for the whole history by giving no budget',
  'src/api/read-branches.ts': 'the structure: one entry for each fork, and the forks are compared',
  'src/formats/page/exported-conversation.ts': 'the same; a page begins with a table of its branches',
  'src/cli/manage/rm.ts':
    'the structure, whose subtrees are cut; the conversations are counted before a person is asked',
  'src/cli/manage/trash.ts': 'a table: the widths of its columns depend on all rows',
  'src/cli/read/tree.ts': 'the structure: the tree is drawn from it',
  'src/context/summary/read-uncovered.ts': 'summaries: one for a full context window',
  'src/recorder/take-over.ts': 'open turns: at most one for each branch, and they end while they are read',
  'src/acp/seat/take-seat.ts': 'links of one branch: one for each agent and directory',
  'src/acp/proxy/client-requests.ts': 'the same',
  'src/cli/agent/agent.ts': 'the same',
  'src/cli/dispatch/task-commands.ts': 'dispatches of one task: as many as it was tried',
  'src/cli/serve/token.ts': 'access tokens, which people create',
}

/** No file of the product reads a whole list unless it is named above. The contract in `src/testing` reads
 *  lists that it has written. */
export const noWholeLists: Rule = files =>
  files
    .filter(({ path }) => path.startsWith('src/') && !path.startsWith('src/testing/'))
    .flatMap(file => {
      const faults: string[] = []
      visit(file, node => {
        const { callee } = node as { readonly callee?: { readonly name?: unknown } }
        const name = node.type === 'CallExpression' ? callee?.name : null
        if (typeof name === 'string' && wholeReaders.includes(name))
          faults.push(`${file.path}: reads a whole list with ${name}`)
      })
      return faults
    })
