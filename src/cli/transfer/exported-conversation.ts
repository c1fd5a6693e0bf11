import type { BranchInfo } from '../../core/branch.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import { collectPages } from '../../core/pages.ts'
import type { ConversationReader, Lister, MessageReader, Resolved } from '../../core/ports.ts'
import type { Summary } from '../../core/summary.ts'
import { modelName } from '../output/model-name.ts'

/** A stretch from a fork or a root to a leaf. Each message of a conversation is in exactly one. */
export interface ExportedLine {
  readonly messages: readonly Message[]
  /** The message it forks from; null for a root. */
  readonly from: MessageId | null
  /** The branches that end in it. */
  readonly branches: readonly string[]
}

/** A whole conversation: first the line that would be continued, then the others. */
export interface ExportedConversation {
  readonly conversation: Conversation
  readonly lines: readonly ExportedLine[]
  readonly branches: readonly BranchInfo[]
  readonly summaries: readonly Summary[]
  /** The ids of unreadable messages. */
  readonly unreadable: readonly string[]
  /** `You`, a model or a tool. */
  speaker(message: Message): string
}

/** Reads a whole conversation. The first line is the path of the requested message or branch. */
export async function readExportedConversation(
  store: ConversationReader & MessageReader & Lister,
  { conversation, branch, message }: Resolved,
): Promise<ExportedConversation> {
  const { id } = conversation
  const messages: Message[] = []
  const unreadable: string[] = []
  for (let after: string | undefined, more = true; more; ) {
    const page = await store.listMessages({
      conversationId: id,
      order: 'ascending',
      limit: 500,
      ...(after !== undefined && { after }),
    })
    messages.push(...page.items)
    unreadable.push(...page.skipped.map(row => row.id))
    after = page.next ?? undefined
    more = after !== undefined
  }
  const branches = await collectPages(page => store.listBranches(id, page))
  const models = new Map(
    (await collectPages(page => store.listTurns(id, page))).map(turn => [turn.first, turn.model]),
  )
  return {
    conversation,
    branches,
    lines: splitIntoLines(messages, message ?? branch.head, branches),
    summaries: await collectPages(page => store.listSummaries(id, page)),
    unreadable,
    speaker: said =>
      speakerOf(said, (said.turn === null ? null : models.get(said.turn)) ?? conversation.model),
  }
}

function speakerOf({ role }: Message, model: string | null): string {
  switch (role) {
    case 'user':
      return 'You'
    case 'assistant':
      return model === null ? 'Assistant' : modelName(model)
    case 'tool_result':
      return 'Tool'
    case 'system':
      return 'System'
  }
}

/** Splits a tree into lines. Messages are in order of seq, so parents precede their children. */
export function splitIntoLines(
  messages: readonly Message[],
  head: MessageId | null,
  branches: readonly BranchInfo[],
): readonly ExportedLine[] {
  const byId = new Map(messages.map(message => [message.id, message]))
  const children = Map.groupBy(messages, message => message.parentId)
  const heads = Map.groupBy(branches, branch => branch.head)
  const placed = new Set<MessageId>()
  const lines: ExportedLine[] = []
  if (head !== null) {
    const path: Message[] = []
    for (let at = byId.get(head); at; at = at.parentId === null ? undefined : byId.get(at.parentId))
      path.push(at)
    add(path.reverse())
  }
  for (const message of messages) {
    if (placed.has(message.id)) continue
    const line: Message[] = []
    for (
      let at: Message | undefined = message;
      at;
      at = children.get(at.id)?.find(child => !placed.has(child.id))
    ) {
      line.push(at)
    }
    add(line)
  }
  return lines

  function add(line: readonly Message[]): void {
    for (const { id } of line) placed.add(id)
    const names = line.flatMap(({ id }) => (heads.get(id) ?? []).map(({ name }) => name))
    if (line.length > 0) lines.push({ messages: line, from: line[0]!.parentId, branches: names })
  }
}
