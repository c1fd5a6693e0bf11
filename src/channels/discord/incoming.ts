import type { Speaker } from '../../context/view/name-speaker.ts'
import type { DiscordPlace } from './place.ts'

/** A message as it arrived, in plain values: only `client.ts` knows discord.js. */
export interface IncomingMessage {
  readonly id: string
  readonly place: DiscordPlace
  /** The name of the channel or thread. Null for a direct message. */
  readonly placeName: string | null
  readonly author: Speaker
  /** A bot, a webhook or Discord itself. */
  readonly isAutomatic: boolean
  /** The words, with names in place of the ids of mentions. */
  readonly text: string
  readonly attachments: readonly IncomingAttachment[]
  readonly mentionsBot: boolean
  readonly repliesToBot: boolean
  /** The bot is a member of the thread. */
  readonly isMember: boolean
  /** A thread that only invited people see. */
  readonly isPrivate: boolean
  /** Where the answer goes. */
  readonly port: AnswerPort
  /** The message that the thread was started on, if there is one, and the message that it replied to. */
  starter(): Promise<ThreadStarter | null>
}

/** The message that a thread was started on. */
export interface ThreadStarter {
  readonly id: string
  /** The message that it replied to, if the bot wrote it. */
  readonly answerTo: string | null
}

/** A file of a message. */
export interface IncomingAttachment {
  readonly name: string
  readonly mime: string
  readonly bytes: number
  readonly url: string
}

/** Sends an answer to a place. */
export interface AnswerPort {
  /** Sends a message, as a reply if `replyTo` is given and still exists. Returns the id. */
  send(text: string, replyTo: string | null): Promise<string>
  /** Returns false if the message does not exist any more. */
  edit(id: string, text: string): Promise<boolean>
  /** Shows for ten seconds that an answer is being written. */
  showTyping(): Promise<void>
}

/** A slash command, or a press of the button that confirms one. */
export interface IncomingCommand {
  readonly id: string
  readonly name: string
  readonly options: Readonly<Record<string, string | number>>
  readonly place: DiscordPlace
  readonly placeName: string | null
  readonly user: Speaker
  /** Whether the person may see a channel. */
  canSee(channelId: string): boolean
  /** Shows the answer: to the person who asked or to everyone, as the command declares. */
  reply(answer: CommandAnswer): Promise<void>
  /** Creates a thread in the channel and returns its id. Null where there are no threads. */
  createThread(name: string): Promise<string | null>
}

/** The answer to a command. */
export interface CommandAnswer {
  readonly text: string
  /** A button below the text, which runs `name` with the option `argument`. */
  readonly button?: { readonly label: string; readonly name: string; readonly argument: string }
}
