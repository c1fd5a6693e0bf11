/** What a NotFoundError can be about. */
export type NotFoundKind =
  | 'conversation'
  | 'message'
  | 'branch'
  | 'turn'
  | 'blob'
  | 'summary'
  | 'key'
  | 'id'
  | 'token'
  | 'task'
  | 'dispatch'
