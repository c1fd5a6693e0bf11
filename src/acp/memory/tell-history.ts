import type { MessageId } from '../../core/ids.ts'
import { type HistoryText, historyText } from './history-text.ts'
import { type HistoryReader, type NewestMessages, readBeginning, withWholeTexts } from './read-history.ts'

/** A file with a whole conversation, for an agent that is told a part of it. */
export interface TranscriptFile {
  /** Writes the conversation up to this message. Returns the path; null if that is not possible. */
  write(head: MessageId): Promise<string | null>
}

/** How much of a conversation an agent is told, and how. */
export interface HistoryTelling {
  /** Most tokens. */
  readonly tokens: number
  /** The working directory of the agent. */
  readonly directory: string
  /** Null if no file is to be written. */
  readonly transcript: TranscriptFile | null
  /** The MCP server of the session that reads the conversation. Absent if there is none. */
  readonly recall?: string
  /** Makes a summary of the path up to this message, if the person allows it. */
  summarize?(head: MessageId): Promise<unknown>
}

/** Messages that an agent lacks. */
export interface UntoldPart extends NewestMessages {
  /** The last message of the path. */
  readonly head: MessageId
  /** True if the agent knows nothing of the conversation: then the summary is told, too. */
  readonly isAll: boolean
}

/** The text for messages that an agent lacks; null if there is nothing to tell. If it leaves anything out,
 *  the whole conversation is written to a file that the text names. */
export async function tellHistory(
  store: HistoryReader,
  { messages, older, head, isAll }: UntoldPart,
  telling: HistoryTelling,
): Promise<HistoryText | null> {
  const { tokens, directory, transcript } = telling
  if (isAll && messages.length > 0) await telling.summarize?.(head)
  const whole = await withWholeTexts(store, messages)
  const options = {
    tokens,
    directory,
    older,
    recall: telling.recall ?? null,
    ...(isAll ? await readBeginning(store, messages, older) : {}),
  }
  const text = historyText(whole, options)
  if (!text?.isShortened || !transcript) return text
  const path = await transcript.write(head)
  return path === null ? text : historyText(whole, { ...options, transcript: path })
}
