import type { ErrorCode, Holder } from '../../src/core/errors.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'

/** The simplest possible store: plain objects that reference each other, nothing stored twice. A driver must
 *  behave the same. The driver makes the ids and passes them to the model afterwards. */

export interface ModelMessage {
  id: MessageId
  readonly conversation: ModelConversation
  readonly seq: number
  readonly parent: ModelMessage | null
  readonly text: string
  readonly turn: ModelTurn | null
  readonly step: number | null
  label: string | null
  alive: boolean
  erased: boolean
}

export interface ModelBranch {
  name: string
  head: ModelMessage | null
  key: string | null
  formerKey: string | null
  trashedKey: string | null
  readonly createdAt: number
}

export interface ModelTurn {
  readonly key: string
  branch: string
  readonly first: number
  last: number
  lastStep: number
  status: 'open' | 'complete' | 'interrupted' | 'failed'
  holder: number | null
  /** The part of an answer that has arrived. */
  drafts: string[]
}

export interface ModelConversation {
  id: ConversationId
  branches: ModelBranch[]
  active: string
  /** All messages ever stored; the index is the seq. */
  readonly messages: ModelMessage[]
  readonly turns: ModelTurn[]
  /** Their types. */
  readonly events: string[]
  trashed: boolean
  purged: boolean
  updatedAt: number
}

export interface ModelStep {
  readonly key: string
  readonly step: number
  readonly status: 'open' | 'complete'
  readonly holder: number | null
}

/** A refusal of the model. */
export class Refusal extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode) {
    super(code)
    this.code = code
  }
}

export const holderOf = (n: number): Holder => ({ host: 'model', boot: 'boot', pid: n, startedAt: 1 })

export function pathOf(message: ModelMessage | null): ModelMessage[] {
  const path: ModelMessage[] = []
  for (let at = message; at; at = at.parent) path.unshift(at)
  return path
}

export class Model {
  readonly conversations: ModelConversation[] = []
  now = 0

  holderOfKey(key: string): { conversation: ModelConversation; branch: ModelBranch } | null {
    for (const conversation of this.conversations) {
      const branch = conversation.purged ? undefined : conversation.branches.find(one => one.key === key)
      if (branch) return { conversation, branch }
    }
    return null
  }

  /** Oldest first: the others branch off the first. */
  branchesOf(conversation: ModelConversation): ModelBranch[] {
    const rank = (branch: ModelBranch) => (branch.name === 'main' ? 0 : 1)
    return [...conversation.branches].sort(
      (a, b) => a.createdAt - b.createdAt || rank(a) - rank(b) || (a.name < b.name ? -1 : 1),
    )
  }

  create(key: string | null): ModelConversation {
    if (key !== null) this.#needFreeKey(key)
    const conversation: ModelConversation = {
      id: '' as ConversationId,
      branches: [this.#branch('main', null, key)],
      active: 'main',
      messages: [],
      turns: [],
      events: [],
      trashed: false,
      purged: false,
      updatedAt: this.now,
    }
    this.conversations.push(conversation)
    return conversation
  }

  append(
    conversation: ModelConversation,
    name: string,
    expected: ModelMessage | null,
    texts: readonly string[],
    { step, sibling }: { step: ModelStep | null; sibling: boolean },
  ): { branch: string; messages: ModelMessage[]; outcome: 'appended' | 'forked' | 'replayed' } {
    const branch = this.needPlace(conversation, name)
    const ongoing = conversation.turns.find(turn => turn.key === step?.key)
    if (step && ongoing) {
      const messages = this.#replayed(conversation, ongoing, step, texts)
      if (messages) return { branch: ongoing.branch, messages, outcome: 'replayed' }
      if (ongoing.status !== 'open' || ongoing.holder !== step.holder) throw new Refusal('expired')
      if (ongoing.branch !== name) throw new Refusal('key_reused')
    }
    const open = this.openTurnOn(conversation, name)
    const held = open !== undefined && open.key !== step?.key
    if (!held && branch.head === expected) {
      const messages = this.#grow(conversation, branch, texts, step, ongoing)
      return { branch: name, messages, outcome: 'appended' }
    }
    if (!sibling || ongoing) throw new Refusal(held ? 'busy' : 'conflict')
    if (expected) this.#needMessageIn(conversation, expected)
    const beside = this.#branch(this.#freeSibling(conversation, name), expected, null)
    conversation.branches.push(beside)
    const messages = this.#grow(conversation, beside, texts, step, undefined)
    return { branch: beside.name, messages, outcome: 'forked' }
  }

  save(
    conversation: ModelConversation,
    items: readonly { text: string; parent: ModelMessage | null | number }[],
  ): ModelMessage[] {
    this.needLiving(conversation)
    for (const { parent } of items) {
      if (parent !== null && typeof parent === 'object') this.#needMessageIn(conversation, parent)
    }
    const saved: ModelMessage[] = []
    for (const { text, parent } of items) {
      const above = typeof parent === 'number' ? saved[parent]! : parent
      saved.push(this.place(conversation, above, text, null, null))
    }
    conversation.updatedAt = Math.max(conversation.updatedAt, this.now)
    return saved
  }

  createBranch(conversation: ModelConversation, at: ModelMessage | null, name: string, key: string | null) {
    this.needLiving(conversation)
    if (at) this.#needMessageIn(conversation, at)
    if (key !== null) this.#needFreeKey(key)
    if (conversation.branches.some(branch => branch.name === name)) throw new Refusal('key_reused')
    conversation.branches.push(this.#branch(name, at, key))
  }

  renameBranch(conversation: ModelConversation, name: string, to: string): void {
    const branch = this.needPlace(conversation, name)
    if (to === name) return
    if (conversation.branches.some(one => one.name === to)) throw new Refusal('key_reused')
    this.#rename(conversation, branch, to)
    if (conversation.active === name) conversation.active = to
  }

  deleteBranch(conversation: ModelConversation, name: string): void {
    const branch = this.needPlace(conversation, name)
    if (conversation.active === name) throw new Refusal('invalid')
    this.#needNotHeld(conversation, name)
    conversation.branches = conversation.branches.filter(one => one !== branch)
  }

  moveBranch(
    conversation: ModelConversation,
    name: string,
    from: ModelMessage | null,
    to: ModelMessage | null,
  ) {
    const branch = this.needPlace(conversation, name)
    if (to) this.#needMessageIn(conversation, to)
    this.#needNotHeld(conversation, name)
    if (branch.head !== from) throw new Refusal('conflict')
    branch.head = to
  }

  activateBranch(conversation: ModelConversation, name: string): void {
    this.needPlace(conversation, name)
    conversation.active = name
  }

  setKey(conversation: ModelConversation, name: string, key: string | null): void {
    const branch = this.needPlace(conversation, name)
    if (key === branch.key) return
    if (key === null) branch.formerKey = branch.key
    else this.#needFreeKey(key)
    branch.key = key
    branch.trashedKey = null
  }

  /** Returns the new name of the archived branch. */
  reset(conversation: ModelConversation, name: string): string | null {
    const branch = this.needPlace(conversation, name)
    this.#needNotHeld(conversation, name)
    if (!branch.head) return null
    let n = 1
    while (conversation.branches.some(one => one.name === `before-reset-${n}`)) n++
    this.#rename(conversation, branch, `before-reset-${n}`)
    conversation.branches.push(this.#branch(name, null, branch.key))
    branch.formerKey = branch.key
    branch.key = null
    return branch.name
  }

  setLabel(message: ModelMessage, label: string | null): void {
    if (!message.alive) throw new Refusal('not_found')
    this.needLiving(message.conversation)
    message.label = label
  }

  /** Returns the number of deleted messages. */
  deleteMessages(named: readonly ModelMessage[], recursive: boolean): number {
    const doomed = new Set(named.filter(message => message.alive))
    const touched = new Set([...doomed].map(message => message.conversation))
    for (const conversation of [...touched].sort((a, b) => (a.id < b.id ? -1 : 1))) {
      this.needLiving(conversation)
      // Parents come before their children.
      for (const message of conversation.messages) {
        if (!message.alive || doomed.has(message) || !message.parent || !doomed.has(message.parent)) continue
        if (!recursive) throw new Refusal('invalid')
        doomed.add(message)
      }
      const goes = ({ status, last }: ModelTurn) =>
        status === 'open' && doomed.has(conversation.messages[last]!)
      if (conversation.turns.some(goes)) throw new Refusal('busy')
    }
    for (const message of doomed) message.alive = false
    for (const conversation of touched) {
      for (const branch of conversation.branches) {
        branch.head = pathOf(branch.head).findLast(message => message.alive) ?? null
      }
    }
    return doomed.size
  }

  eraseMessages(named: readonly ModelMessage[]): number {
    const living = new Set(named.filter(message => message.alive))
    for (const { conversation } of living) this.needLiving(conversation)
    const erased = [...living].filter(message => !message.erased)
    for (const message of erased) {
      message.erased = true
      message.conversation.events.push('message_erased')
    }
    return erased.length
  }

  trash(conversation: ModelConversation): boolean {
    if (conversation.purged || conversation.trashed) return false
    conversation.trashed = true
    for (const branch of conversation.branches) {
      if (branch.key === null) continue
      branch.formerKey = branch.trashedKey = branch.key
      branch.key = null
    }
    return true
  }

  /** Returns the keys that other branches have taken. */
  restore(conversation: ModelConversation): string[] {
    if (conversation.purged) throw new Refusal('not_found')
    if (!conversation.trashed) return []
    conversation.trashed = false
    const taken: string[] = []
    for (const branch of this.branchesOf(conversation)) {
      const key = branch.trashedKey
      if (key === null) continue
      branch.trashedKey = null
      const lost = this.holderOfKey(key) !== null
      if (lost) taken.push(key)
      branch.key = lost ? null : key
      branch.formerKey = lost ? key : null
    }
    return taken
  }

  purge(conversation: ModelConversation): boolean {
    if (conversation.purged) return false
    if (!conversation.trashed) throw new Refusal('invalid')
    conversation.purged = true
    for (const message of conversation.messages) message.alive = false
    return true
  }

  #branch(name: string, head: ModelMessage | null, key: string | null): ModelBranch {
    return { name, head, key, formerKey: null, trashedKey: null, createdAt: this.now }
  }

  #rename(conversation: ModelConversation, branch: ModelBranch, to: string): void {
    for (const turn of conversation.turns) if (turn.branch === branch.name) turn.branch = to
    branch.name = to
  }

  place(
    conversation: ModelConversation,
    parent: ModelMessage | null,
    text: string,
    turn: ModelTurn | null,
    step: number | null,
  ): ModelMessage {
    const seq = conversation.messages.length
    const fresh = { id: '' as MessageId, label: null, alive: true, erased: false }
    const message: ModelMessage = { ...fresh, conversation, seq, parent, text, turn, step }
    conversation.messages.push(message)
    return message
  }

  #grow(
    conversation: ModelConversation,
    branch: ModelBranch,
    texts: readonly string[],
    step: ModelStep | null,
    ongoing: ModelTurn | undefined,
  ): ModelMessage[] {
    const first = conversation.messages.length
    const last = first + texts.length - 1
    let turn = ongoing ?? null
    if (step && ongoing)
      Object.assign(ongoing, { last, lastStep: step.step, status: step.status, drafts: [] })
    else if (step) {
      const { key, status, holder } = step
      turn = { key, branch: branch.name, first, last, lastStep: step.step, status, holder, drafts: [] }
      conversation.turns.push(turn)
    }
    const grown = texts.map(text => {
      branch.head = this.place(conversation, branch.head, text, turn, step?.step ?? null)
      return branch.head
    })
    conversation.updatedAt = Math.max(conversation.updatedAt, this.now)
    return grown
  }

  #replayed(
    conversation: ModelConversation,
    turn: ModelTurn,
    { step }: ModelStep,
    texts: readonly string[],
  ): ModelMessage[] | null {
    if (step > turn.lastStep) return null
    const stored = conversation.messages.filter(one => one.alive && one.turn === turn && one.step === step)
    if (stored.map(one => one.text).join('\n') !== texts.join('\n')) throw new Refusal('key_reused')
    return stored
  }

  #freeSibling(conversation: ModelConversation, name: string): string {
    const [, base = name, number = '1'] = /^(.*)-(\d+)$/.exec(name) ?? []
    for (let n = Number(number) + 1; ; n++) {
      if (!conversation.branches.some(branch => branch.name === `${base}-${n}`)) return `${base}-${n}`
    }
  }

  openTurnOn(conversation: ModelConversation, name: string): ModelTurn | undefined {
    return conversation.turns.find(turn => turn.status === 'open' && turn.branch === name)
  }

  #needNotHeld(conversation: ModelConversation, name: string): void {
    if (this.openTurnOn(conversation, name)) throw new Refusal('busy')
  }

  #needFreeKey(key: string): void {
    if (this.holderOfKey(key)) throw new Refusal('key_reused')
  }

  needLiving(conversation: ModelConversation): void {
    if (conversation.purged || conversation.trashed) throw new Refusal('not_found')
  }

  needPlace(conversation: ModelConversation, name: string): ModelBranch {
    this.needLiving(conversation)
    const branch = conversation.branches.find(one => one.name === name)
    if (!branch) throw new Refusal('not_found')
    return branch
  }

  #needMessageIn(conversation: ModelConversation, message: ModelMessage): void {
    if (!message.alive || message.conversation !== conversation) throw new Refusal('not_found')
  }
}
