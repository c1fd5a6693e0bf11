type None = Readonly<Record<never, never>>

/** What is asked to say how much there is: sums, which the engine makes. */
export interface MeasureStatements {
  counted: [
    { since: number },
    {
      conversations: number
      messages: number
      recent_conversations: number
      recent_messages: number
      trashed: number
    },
  ]
  usageSums: [
    { since: number },
    {
      model: string | null
      quarter: number | null
      turns: number
      input: number
      output: number
      cost: number
      uncosted: number
    },
  ]
  blobSum: [None, { count: number; bytes: number }]
  sizes: [None, { name: string; bytes: number }]
}
