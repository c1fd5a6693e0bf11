/** What went wrong with a model call: the key was refused (401), or may not do this (403); the model is
 *  unknown (404); the rate is limited (429); the account has no credit; the provider is overloaded (5xx), or
 *  cannot be reached; the stream ended in the middle of an answer; the request was refused (other 4xx). */
export type ModelErrorKind =
  | 'key_refused'
  | 'not_allowed'
  | 'unknown_model'
  | 'rate_limited'
  | 'no_credit'
  | 'overloaded'
  | 'unreachable'
  | 'broke_off'
  | 'bad_request'
  | 'other'
