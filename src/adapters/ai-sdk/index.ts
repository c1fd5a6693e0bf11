/**
 * The adapter for applications that use the AI SDK (`ai` 7). `recordTo` wraps a language model and tools;
 * whatever `generateText`, `streamText` or an agent of the SDK sends through them is stored.
 *
 * Failing storage never fails a call of the model. A message that could not be stored comes again with the
 * next prompt.
 */

// The SDK has no conversations. It calls a model once per step, each time with the whole prompt, and runs
// tools between two calls. The adapter rebuilds turns from that:
//
// 1. `record-to.ts`: the middleware. A call of the model comes in here.
// 2. `read-prompt.ts`: the prompt becomes messages of ours. `next-messages.ts` is the way back: the stored
//    messages, those that fit into a window, or those that continue an interrupted answer.
// 3. `align-prompt.ts`: the messages are compared with a stored path, by position. `fingerprint.ts` defines
//    which messages are equal. The common part is not stored again; the rest is new.
// 4. `exchanges.ts`: finds the exchange that the call continues, or begins one. An exchange is one turn: a
//    question, the calls of the model, and the tools between them. `find-position.ts` finds where a new
//    exchange belongs: at the end of the branch, at the end of a sibling branch, or on a new sibling if a
//    message was edited.
// 5. `exchange-recording.ts`: one exchange being recorded, on top of a `TurnRecording` of `recorder/`. It
//    ends with an answer without tool calls, with an error, or when the next call does not come in time
//    (`ExchangeTimeouts`).
// 6. `record-answer.ts`: the answer, whole or streamed, becomes a message. `watch-tools.ts`: results of
//    wrapped tools are stored as they come, through `exchange-tools.ts`.
// 7. Approvals: `watch-tools.ts` and `watch-tool-approval.ts` see which calls need one, and the exchange
//    stores the request. `answered-calls.ts` shows the answers to the SDK, which then runs the tools;
//    `approved-calls.ts` lets one process run each call, once.
//
// A server may create a recorder for each request. `conversation-state.ts` is what the recorders of one
// conversation share in this process. `recording-scope.ts` prevents that a model or tool that is wrapped
// twice is recorded twice.
//
// May import core, system, context, models and recorder, and the provider types of the AI SDK.

export type { RecordToStore } from './approved-calls.ts'
export type { ExchangeTimeouts } from './exchange-recording.ts'
export type { ForkedCall } from './exchanges.ts'
export type { InterruptedCall, MessagesOptions } from './next-messages.ts'
export { type ModelRecorder, type RecordToOptions, recordTo } from './record-to.ts'
