/** What a provider said about a window that is too small. */
export interface Overflow {
  readonly limit?: number
  readonly needed?: number
}

/** How providers say it, those with numbers first. There is no code that all of them share. */
const wordings: readonly RegExp[] = [
  // Anthropic
  /prompt is too long: (?<needed>\d+) tokens? > (?<limit>\d+) maximum/i,
  /input length and `?max_tokens`? exceed context limit: (?<input>\d+) \+ (?<output>\d+) > (?<limit>\d+)/i,
  // OpenAI, vLLM, OpenRouter and most that are compatible
  /maximum context length (?:is|of) (?<limit>\d+)(?: tokens)?\D{1,60}?(?:resulted in|requested)(?: about)? (?<needed>\d+)/i,
  /request too large for .*?limit (?<limit>\d+), requested (?<needed>\d+)/is,
  // Google
  /input token count \(?(?<needed>\d+)\)? exceeds the maximum number of tokens allowed \(?(?<limit>\d+)\)?/i,
  /input token count exceeds the maximum number of tokens allowed \(?(?<limit>\d+)\)?/i,
  // llama.cpp and LM Studio
  /request \((?<needed>\d+) tokens\) exceeds the available context size \((?<limit>\d+) tokens\)/i,
  /context length of only (?<limit>\d+) tokens/i,
  // xAI, Mistral, Copilot
  /maximum prompt length is (?<limit>\d+) but the request contains (?<needed>\d+) tokens/i,
  /prompt contains (?<needed>\d+) tokens.*?too large for model with (?<limit>\d+) maximum context length/is,
  /prompt token count of (?<needed>\d+) exceeds the limit of (?<limit>\d+)/i,
  // The same without numbers
  /maximum context length is (?<limit>\d+)/i,
  /prompt is too long|request_too_large|request exceeds the maximum size|input is too long for requested model/i,
  /exceeds the context window|context_length_exceeded|context length exceeded|model_context_window_exceeded/i,
  /exceeds? the available context size|exceed_context_size_error|greater than the context length/i,
  /reduce the length of the (?:messages|prompt|input)|exceeded model token limit|context window exceeds limit/i,
]

/** The facts, if these words say that a context was too long; null if they say something else. */
export function overflowIn(said: string): Overflow | null {
  const plain = said.replaceAll(/(?<=\d)[,_](?=\d{3}\b)/g, '')
  for (const wording of wordings) {
    const match = wording.exec(plain)
    if (match === null) continue
    const { limit, needed, input, output } = match.groups ?? {}
    const sum = needed ?? (input === undefined ? undefined : String(Number(input) + Number(output)))
    return {
      ...(limit !== undefined && { limit: Number(limit) }),
      ...(sum !== undefined && { needed: Number(sum) }),
    }
  }
  return null
}
