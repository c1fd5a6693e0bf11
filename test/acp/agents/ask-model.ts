import { modelUrl } from './environment.ts'
import type { ModelCall, Step } from './step.ts'

/** Sends a turn to the model of the test, and yields the steps of its answer. */
export async function* askModel(call: ModelCall, signal: AbortSignal): AsyncGenerator<Step> {
  const response = await fetch(modelUrl(), { method: 'POST', body: JSON.stringify(call), signal })
  if (!response.ok || !response.body) throw new Error(`the model answered ${response.status}`)
  let rest = ''
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop()!
    for (const line of lines) yield JSON.parse(line) as Step
  }
}
