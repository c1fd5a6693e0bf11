import { expect, it } from 'vitest'
import { widthOf } from '../../../src/cli/output/cut.ts'
import { styleFor } from '../../../src/cli/output/style.ts'
import { showLines } from '../../../src/cli/read/show-lines.ts'
import { readShownPath } from '../../../src/cli/read/shown-path.ts'
import { openStore } from '../../../src/stores/open.ts'

const plain = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8' }, noColor: true })
const now = new Date(2026, 10, 16, 12).getTime()

it.each([40, 80])(
  'the lines of show are at most %i columns wide, however long names and labels are',
  async width => {
    await using store = await openStore(':memory:')
    const long = (word: string) => `${word}-`.repeat(20)
    const { conversation, branch } = await store.create({ title: long('title') })
    const { ids } = await store.append(branch, null, [{ role: 'user', content: 'why' }])
    for (const name of [long('one'), long('two')]) {
      const fork = await store.createBranch(conversation.id, ids[0]!, { name })
      const step = { key: name, step: 0, status: 'interrupted', model: `a/${long('model')}` } as const
      const options = { turn: { ...step, usage: { input: 123_456, output: 7_890 } } }
      const said = [{ role: 'assistant' as const, content: 'because' }]
      const { head } = await store.append(fork, fork.head, said, options)
      await store.setLabel(head, long('label'))
      await store.activateBranch(fork)
    }
    const { head } = await store.getBranch({ conversationId: conversation.id, name: long('two') })
    await store.eraseMessages([ids[0]!], { by: long('me'), reason: long('reason') })
    const shown = await readShownPath(store, await store.resolve(head!))
    const short = (id: string) => id.slice(0, 6)
    const look = { width, style: plain, full: false, short, command: 'skein', env: {}, now }
    const lines: string[] = []
    for await (const line of showLines(shown, shown.parts(), look)) lines.push(line)
    expect(lines.filter(line => widthOf(line) > width)).toEqual([])
    expect(lines.join(' ')).toMatch(new RegExp(`${short(head!)}.*\\(2 of 2\\) +! interrupted`))
  },
)
