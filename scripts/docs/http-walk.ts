/** One step of the walk through the API in `docs/http.md`. `test/http-walk.test.ts` runs the steps against a
 *  real `skein serve`, in this order. */
export interface WalkStep {
  /** What the step does, as a sentence. */
  readonly about: string
  /** What is typed. */
  readonly typed: string
  /** Parts of the output, in this order. */
  readonly shows: readonly string[]
}

/** The walk. It uses an id of its own choice, so that no step has to read the output of another one. */
export const walk: readonly WalkStep[] = [
  {
    about: 'Create a conversation. The id is optional. Default: a random one.',
    typed: `id=0b9f6a4e-6f0e-4a53-9b62-5d4f4f0f4b10
curl -s "$api/conversations" -H "$auth" \\
  --json '{"id": "'$id'", "title": "Reconnect storm", "task": "GW-12", "tags": ["gateway"]}'`,
    shows: ['"title":"Reconnect storm"', '"task":"GW-12"'],
  },
  {
    about: 'Append messages. With an `Idempotency-Key`, a retry is answered from the store.',
    typed: `curl -s "$api/conversations/$id/messages" -H "$auth" -H 'Idempotency-Key: first-words' \\
  --json '{"messages": [{"role": "user", "content": "My name is Ada."},
                        {"role": "assistant", "content": "Hello Ada."}]}'`,
    shows: ['"branch":"main"', '"outcome":"appended"'],
  },
  {
    about: 'The same request again writes nothing.',
    typed: `curl -s "$api/conversations/$id/messages" -H "$auth" -H 'Idempotency-Key: first-words' \\
  --json '{"messages": [{"role": "user", "content": "My name is Ada."},
                        {"role": "assistant", "content": "Hello Ada."}]}'`,
    shows: ['"outcome":"replayed"'],
  },
  {
    about:
      'Ask the model, and read its answer as it arrives. The turn continues if the connection is closed.',
    typed: `curl -sN "$api/conversations/$id/turns" -H "$auth" -H 'Accept: text/event-stream' \\
  --json '{"content": "What is my name?"}'`,
    shows: ['event: started', 'event: text', 'Ada', 'event: ended'],
  },
  {
    about:
      'Follow it: every change by any process, as events. A stream continues behind an event if its id is sent ' +
      'as `Last-Event-ID`. Here it ends after a second.',
    typed: `curl -sN --max-time 1 "$api/follow?conversation=$id" -H "$auth" || true`,
    shows: ['id: ', 'event: branches', '"type":"branches"'],
  },
  {
    about: 'Fork: a branch at the same message. No message is copied.',
    typed: `curl -s "$api/conversations/$id/branches" -H "$auth" --json '{"name": "another-try"}'`,
    shows: ['"name":"another-try"'],
  },
  {
    about: 'Read the newest messages of a path, with the turns, models and siblings.',
    typed: `curl -s "$api/conversations/$id/messages?branch=main&limit=2" -H "$auth"`,
    shows: ['"text":"What is my name?"', '"role":"assistant"'],
  },
  {
    about: 'Read the whole conversation, also by its task.',
    typed: `curl -s "$api/tasks/GW-12/conversation" -H "$auth"`,
    shows: ['"content":"My name is Ada."', '"content":"Hello Ada."'],
  },
  {
    about: 'Search all conversations.',
    typed: `curl -s "$api/search" -H "$auth" -G --data-urlencode 'q="my name" role:user'`,
    shows: ['"snippet":"'],
  },
  {
    about: 'Change fields. A field that is not named keeps its value.',
    typed: `curl -s -X PATCH "$api/conversations/$id" -H "$auth" --json '{"title": "Names", "metadata": {"team": "core"}}'`,
    shows: ['"title":"Names"', '"team":"core"'],
  },
  {
    about: 'List with filters.',
    typed: `curl -s "$api/conversations?tag=gateway&metadata.team=core&limit=5" -H "$auth"`,
    shows: ['"items":[{', '"title":"Names"', '"next":null'],
  },
  {
    about: 'Export without loss, one record per line; `POST /import` reads it in another service.',
    typed: `curl -s "$api/conversations/$id/export" -H "$auth" -o names.jsonl
head -n 1 names.jsonl`,
    shows: ['skein'],
  },
  {
    about: 'Move it to the trash, and take it out again.',
    typed: `curl -s -X DELETE "$api/conversations/$id" -H "$auth"
curl -s -X POST "$api/conversations/$id/restore" -H "$auth"`,
    shows: ['"success":true', '"title":"Names"'],
  },
  {
    about: 'An error says what is wrong, as a code, as a sentence and as facts.',
    typed: `curl -s "$api/conversations/00000000-0000-4000-8000-000000000000" -H "$auth"`,
    shows: ['"status":404', '"code":"not_found"'],
  },
]
