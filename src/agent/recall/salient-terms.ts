import { type Term, termOf } from '../../core/search/term.ts'
import { tokenizeQuery } from '../../core/search/tokenize.ts'

/** A word by which an earlier conversation may be found. */
export interface SalientTerm {
  readonly term: Term
  /** The word as a search query. */
  readonly query: string
  /** How specific it is, from 0 to 1: long words and words with digits are more specific than short ones. */
  readonly weight: number
}

/** Only the beginning of a long text is used: the rest rarely adds a subject. */
const mostRead = 8_000
const longestWord = 64
/** The weight of two letters of a script without spaces: about half a word. */
const pairWeight = 0.4

/** The words that say what a text is about, the most specific first. Stop words and short words are left out.
 *  English endings are removed, and longer words match every word that begins with them. Accepts any
 *  string. */
export function salientTerms(words: string, most: number): readonly SalientTerm[] {
  const found = new Map<string, SalientTerm>()
  for (const [word] of words.slice(0, mostRead).matchAll(/[\p{L}\p{M}\p{N}]+(?:[_-][\p{L}\p{M}\p{N}]+)*/gu)) {
    if (word.length > longestWord) continue
    for (const term of termsIn(word)) {
      const key = term.term.parts.join(' ')
      if (!found.has(key)) found.set(key, term)
    }
  }
  return [...found.values()].sort((a, b) => b.weight - a.weight).slice(0, most)
}

function termsIn(word: string): readonly SalientTerm[] {
  const tokens = tokenizeQuery(word)
  const pairs = tokens.filter(({ from, to }) => to - from === 2).map(({ text }) => text)
  if (pairs.length > 0) {
    return pairs.filter(pair => !stopTokens().has(pair)).flatMap(pair => salient(pair, pairWeight))
  }
  const parts = tokens.map(({ text }) => text)
  if (parts.every(part => stopTokens().has(part))) return []
  const [part = ''] = parts
  const letters = parts.join('')
  const hasDigit = /\p{N}/u.test(letters)
  if (hasDigit && /\p{L}/u.test(letters)) return letters.length < 2 ? [] : salient(word, 1)
  if (hasDigit) return letters.length < 3 ? [] : salient(word, 0.5)
  if (letters.length < 3) return []
  const weight = Math.min(1, Math.max(0.25, (letters.length - 2) / 5))
  if (parts.length > 1 || !/^[a-z]{5,}$/.test(part)) return salient(word, weight)
  const stem = part.replace(/(?<=^.{5,})(?:ing|ed|es|s)$/, '')
  return stopTokens().has(stem) ? [] : salient(`${stem}*`, weight)
}

function salient(query: string, weight: number): readonly SalientTerm[] {
  const term = termOf(query)
  return term === null ? [] : [{ term, query, weight }]
}

/** Words that say nothing about the subject: function words of several languages, greetings and thanks, and
 *  common words of any request to an assistant. */
const english = `a about above actually after again all almost also although always am an and another any anybody
anyone anything anyway are aren't around as ask asked asking at away back be became because been before began begin
being below best better between both bring but by call called came can can't cannot case change come comes could
couldn't day days decide decided did didn't different discuss discussed do does doesn't doing done don't down each either
else end enough even ever every everybody everyone everything exactly example explain far few find fine first follow
following for found from get gets getting give given gives go goes going gone good got great had hadn't has hasn't have haven't
having he hello help helped helping her here hers hey hi him his hope how however i i'd i'll i'm i've idea if in instead into is
isn't issue it it's its itself just keep kind know knows last later least left less let let's like likely little long look
looking looks lot made make makes making many may maybe me mean might mine more morning most much must my myself name need needed
needs never new next nice no nobody none nor not nothing now of off often oh ok okay on once one ones only onto or other others
our ours out over own part people perhaps please possible previous previously problem put question quite rather really
remember right run said same saw say saying says second see seems seen should shouldn't show shows since so some somebody
someone something sometimes soon sorry start started still stop such sure take taken takes talk talked talking tell than thank
thanks that that's the their theirs them then there there's these they thing things think this those though thought three
through time times to today together told tomorrow too took toward tried true try trying two under understand until up upon us use
used uses using very via want wanted wants was wasn't way ways we we'd we'll we're we've well went were weren't what what's
whatever when where whether which while who whole whom whose why will with within without won't wonder work worked working works
would wouldn't write wrote yeah year years yes yesterday yet you you'd you'll you're you've your yours yourself continue proceed
evening afternoon night bye goodbye cheers welcome hallo conversation conversations chat earlier message messages answer
give describe check add added adding fix world everyone folks dear guys test testing`

const others = `aber alle als also am an auch auf aus bei bin bis bist bitte da damit dank danke dann das dass dein dem den denn der
des dich die dies diese dieser dieses dir doch du durch ein eine einem einen einer eines er es etwas euch für gibt gut guten habe
haben hallo hast hat hatte hier ich ihm ihn ihr im in ist ja jetzt kann kannst kein keine können man mehr mein meine mich mir mit
morgen muss nach nein nicht nichts noch nun nur ob oder ohne schon sehr sein seine sich vielen viel geht sie sind so tag über um und uns unser
von vor war warum was weil wenn wer wie wieder wir wird wo wurde zu zum zur
au aux avec avez beaucoup avons bien bonjour bonsoir ce cela ces cette comme comment dans de des donc du elle elles en est et être eux
fait faire ici il ils je la le les leur lui ma mais me merci mes moi mon même ne nous on ont ou où par pas peu peut peux plaît
plus pour pourquoi quand que quel quelle qui quoi sa salut sans se ses si son sont sur ta te tes toi ton tous tout très tu un une
vous été
algo ante aquí así bueno buenos buenas cada como cómo con cual cuando de del desde donde días el ella ellos en entre era es esa ese eso
esta este esto estoy favor gracias ha hace hacer hay hola la las le lo los más me mi mucho muchas muchos muy nada noches tardes tal no nos o para pero por porque puede
puedes que qué quién se ser si sin sobre su sus también te tengo tiene todo tu un una uno usted y ya yo
anche che chi ciao come con cosa così da del della di dove e grazie ho il io la lo ma mi mio molto non noi per perché più poi
prego quando quello questa questo se sei si sono su sua tu tutto un una
ao as até bom com da dia do dos ela ele em então eu fazer isso mais mas meu muito na não nós obrigada obrigado olá onde os para
pela pelo por porque quando que quem se sem seu sim também tem um uma você
aan als bij dan dat de deze die dit dus een en er geen goed had hallo hebben heeft hem het hij hoe ik in is ja je kan kun maar
met mij mijn naar niet nog nu of om ook op te uit van veel voor waar waarom was wat we wel wie zijn zo
привет здравствуйте спасибо пожалуйста что как это для или если где когда почему
你好 您好 谢谢 请问 什么 怎么 怎样 为什么 可以 我们 你们 他们 这个 那个 一个 一下 帮我 知道 没有 现在
こんにちは こんばんは おはよう ありがとう ございます ください お願いします です ます した して いる から まで
안녕하세요 안녕 감사합니다 고맙습니다 주세요 합니다 있는 있습니다 그리고`

/** The tokens of those words: `don't` gives don and t, `für` gives fur, and scripts without spaces give
 *  pairs. */
function stopTokens(): ReadonlySet<string> {
  // Made on first use: most processes recall nothing.
  madeStopTokens ??= new Set(
    `${english} ${others}`.split(/\s+/).flatMap(word => tokenizeQuery(word).map(({ text }) => text)),
  )
  return madeStopTokens
}

let madeStopTokens: ReadonlySet<string> | undefined
