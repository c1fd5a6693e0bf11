/** How an exported page looks: the colours of the viewer, light and dark. No font, picture or script is fetched. */
export const pageStyle = `
:root { color-scheme: light dark; --bg: #fbfaf7; --surface: #f4f2ed; --line: #e2ded5; --text: #1b1e22; --text-2: #49515a;
  --text-3: #5e666f; --accent: #0a6f63; --danger: #b3261e; --code: #f6f4ef; }
@media (prefers-color-scheme: dark) { :root { --bg: #0f1216; --surface: #151a20; --line: #2a323c; --text: #e8ebef;
  --text-2: #aeb7c2; --text-3: #8b96a3; --accent: #4fc4b2; --danger: #f28b82; --code: #12161b; } }
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
@media print { article, pre { break-inside: avoid; } }
`
