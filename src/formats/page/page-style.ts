/** The style sheet of an exported page: the colours of the viewer, light and dark. Fetches no font, image or
 *  script. */
export const pageStyle = `
:root { color-scheme: light dark; --bg: #fbfaf7; --surface: #f4f2ed; --line: #e2ded5; --text: #1b1e22; --text-2: #49515a;
  --text-3: #5e666f; --accent: #0a6f63; --danger: #b3261e; --code: #f6f4ef;
  --k-keyword: #8a3ea0; --k-string: #2b6f2b; --k-number: #175f9c; --k-type: #8a5a00; --k-function: #0a5a78; }
@media (prefers-color-scheme: dark) { :root { --bg: #0f1216; --surface: #151a20; --line: #2a323c; --text: #e8ebef;
  --text-2: #aeb7c2; --text-3: #8b96a3; --accent: #4fc4b2; --danger: #f28b82; --code: #12161b;
  --k-keyword: #d29bea; --k-string: #93cf8b; --k-number: #82bdf2; --k-type: #e5c07b; --k-function: #7fd0e6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--text); font: 15px/1.6 Inter, system-ui, sans-serif; }
body > header, main, footer { max-width: 780px; margin: 0 auto; padding: 24px 16px; }
body > header { padding-bottom: 0; } main { padding-top: 4px; }
h1 { font-size: 22px; line-height: 1.3; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 0 0 4px; }
h3, h4, h5, h6 { font-size: 15px; margin: 16px 0 4px; }
a { color: var(--accent); }
.facts, .ways, footer { color: var(--text-3); font-size: 13px; }
.line { border-top: 1px solid var(--line); margin-top: 40px; padding-top: 24px; }
article { border-left: 2px solid var(--line); padding: 4px 0 4px 16px; margin: 20px 0; overflow-wrap: anywhere; }
article:target { border-left-color: var(--accent); background: var(--surface); }
article.user { border-left-color: var(--accent); }
article.user > .body { font-size: 16px; font-weight: 480; }
article > header { display: flex; flex-wrap: wrap; gap: 0 12px; align-items: baseline; font-size: 13px; color: var(--text-3); }
article > header > :not(span) { white-space: nowrap; }
article > header b { color: var(--text); }
article > header a { margin-left: auto; text-decoration: none; font-family: monospace; }
.body, summary { unicode-bidi: plaintext; }
p { margin: 8px 0; }
pre, code { font: 13px/1.5 "JetBrains Mono", ui-monospace, monospace; background: var(--code); border-radius: 6px; }
code { padding: 1px 4px; overflow-wrap: anywhere; }
pre { padding: 12px; overflow-x: auto; }
pre code { padding: 0; background: none; overflow-wrap: normal; }
pre.raw { white-space: pre-wrap; max-height: 480px; overflow-y: auto; margin: 8px 0; }
pre.raw code { overflow-wrap: anywhere; }
details { margin: 8px 0; border: 1px solid var(--line); border-radius: 6px; }
details.tool > summary, details.failed > summary { font-family: "JetBrains Mono", ui-monospace, monospace; font-size: 12px; }
details:target { border-color: var(--accent); }
details > summary { cursor: pointer; padding: 4px 12px; font-size: 13px; color: var(--text-2); }
details > :not(summary) { margin: 8px 12px; }
details.failed > summary { color: var(--danger); }
details.summary-card { border-style: dashed; }
blockquote { margin: 8px 0; padding-left: 12px; border-left: 3px solid var(--line); color: var(--text-2); }
img { max-width: 100%; max-height: 420px; }
.wide { overflow-x: auto; margin: 12px 0; } table { border-collapse: collapse; overflow-wrap: normal; }
th, td { border: 1px solid var(--line); padding: 4px 8px; text-align: left; vertical-align: top; min-width: 72px; }
.right { text-align: right; font-variant-numeric: tabular-nums; } .middle { text-align: center; }
[data-language]::before { content: attr(data-language); display: block; font-size: 11px; color: var(--text-3); }
.k-keyword { color: var(--k-keyword); } .k-string, .k-added { color: var(--k-string); }
.k-number, .k-attribute { color: var(--k-number); } .k-type { color: var(--k-type); }
.k-function { color: var(--k-function); } .k-removed { color: var(--danger); }
.k-comment, .k-meta { color: var(--text-3); font-style: italic; }
li > input { margin: 0 4px 0 0; }
.find { display: flex; gap: 12px; align-items: center; margin: 12px 0 0; font-size: 13px; color: var(--text-3); }
.find input { flex: 1; max-width: 360px; font: inherit; color: var(--text); background: var(--surface);
  border: 1px solid var(--line); border-radius: 6px; padding: 6px 10px; }
.hidden { display: none; }
.map { max-width: 780px; margin: 0 auto; padding: 0 16px; font-size: 13px; }
.map h2 { font-size: 13px; color: var(--text-3); } .map ol { list-style: none; margin: 0 0 12px; padding: 0; }
.map a { display: block; padding: 2px 0 2px 10px; border-left: 2px solid var(--line); color: var(--text-2);
  text-decoration: none; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.map a:hover { border-left-color: var(--accent); color: var(--text); }
.map b { color: var(--text); font-weight: 600; }
@media (min-width: 1340px) { .map { position: fixed; top: 24px; right: 24px; width: 248px; max-height: calc(100vh - 48px);
  overflow-y: auto; padding: 0; } }
@media print { article, pre { break-inside: avoid; } .find, .map { display: none; } }
`
