/** The lines of the strange agent, byte for byte: a reader that parses and prints them, or checks them with a
 *  schema, would change them. `SESSION` is replaced by the session id. */
export const strangeLines = {
  unknownUpdate:
    '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"hologram_update","depth":{"z":[1,2,3]}}}}',
  meta: '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"with meta. ","_meta":{"strange.dev/mood":"calm"}},"flavour":"vanilla"}}}',
  bigNumber:
    '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"big","title":"big","rawInput":{"n":9007199254740993,"x":1.0,"y":1e2,"huge":123456789012345678901234567890}}}}',
  twice:
    '{"jsonrpc":"2.0","method":"_strange/twice","params":{"sessionId":"SESSION","key":1,"key":2,"\\u006bey":3}}',
  spaced:
    '{ "method" : "_strange/spaced" ,  "jsonrpc":"2.0", "params" : { "sessionId" : "SESSION" , "slash" : "\\/", "pair": "\\ud83e\\uddf6" } }  ',
  extensionRequest:
    '{"jsonrpc":"2.0","id":"strange-1","method":"_strange/ask","params":{"sessionId":"SESSION","n":9007199254740993}}',
  idOfKindNumber: '{"jsonrpc":"2.0","id":0,"method":"_strange/zero","params":{"sessionId":"SESSION"}}',
} as const

/** The same lines for one session. */
export function strangeLinesFor(sessionId: string): readonly string[] {
  return Object.values(strangeLines).map(line => line.replaceAll('SESSION', sessionId))
}

/** A line that is not JSON: some agents log to stdout. Only with `--noise`. */
export const noise = 'warning: this line is not JSON'

/** The file in its folder where the strange agent writes every line that it receives, unchanged. */
export const receivedFile = 'received.ndjson'
