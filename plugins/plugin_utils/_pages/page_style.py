"""The style of the pages of roles: light, dark, on a phone, and in print."""

from __future__ import annotations

STYLE = """\
:root {
  --page: #fff; --text: #1b1f24; --muted: #57606a; --line: #d0d7de; --card: #f6f8fa; --track: #dfe4ea;
  --ok: #1a7f4b; --warn: #8a5d00; --bad: #c4261d;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #12161b; --text: #e6edf3; --muted: #a3aeb9; --line: #343c46; --card: #1b2128; --track: #343c46;
    --ok: #3fb27f; --warn: #e3b341; --bad: #ff7b72;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 3rem; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
h1 { margin: 0; font-size: 1.6rem; }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.2rem; }
h3 { margin: 1.5rem 0 .5rem; font-size: 1rem; }
header p { margin: .25rem 0 1.5rem; }
.day { white-space: nowrap; }
small { display: block; color: var(--muted); font-weight: 400; font-size: .8rem; line-height: 1.35; }

/* Not by colour alone: a triangle is a warning, a diamond is bad. */
.warn, .level1::before { color: var(--warn); }
.bad, .level2::before, .error { color: var(--bad); }
b.warn::before, .level1::before { content: "▲\\a0"; }
b.bad::before, .level2::before { content: "◆\\a0"; }
.error { font-weight: 700; }

.cards {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem;
  margin: 0; padding: 0; list-style: none;
}
.cards li {
  padding: .75rem 1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); font-size: .85rem;
}
.cards a, .cards strong { color: inherit; font-weight: 600; }
.cards b { display: block; font-size: 1.7rem; line-height: 1.3; }
.unread { padding: .75rem 1rem; border: 1px solid var(--bad); border-radius: .5rem; }

table { width: 100%; border-collapse: collapse; table-layout: fixed; }
th, td { padding: .6rem .75rem .6rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th:first-child { width: 32%; }
thead th { position: sticky; top: 0; background: var(--page); color: var(--muted); font-size: .85rem; }
svg {
  display: block; width: 100%; height: .6rem; margin: .45rem 0 .2rem; border-radius: .3rem; background: var(--track);
}
rect.ok { fill: var(--ok); }
rect.warn { fill: var(--warn); }
rect.bad { fill: var(--bad); }
/* A click selects a whole command. */
code {
  display: block; margin: .4rem 0; padding: .4rem .6rem; border-radius: .3rem; background: var(--card);
  font-size: .8rem; white-space: pre-wrap; user-select: all;
}
code span { display: inline-block; max-width: 100%; }

@media (max-width: 40rem) {
  table { font-size: .875rem; }
  th, td { padding-right: .5rem; }
  /* Beside two or more cells, or a command, the title of a row has a line of its own. */
  tr:is(:has(> :nth-child(3)), table:has(code) *) {
    display: flex; flex-wrap: wrap; column-gap: .5rem; padding: .5rem 0; border-bottom: 1px solid var(--line);
  }
  tr:is(:has(> :nth-child(3)), table:has(code) *) > * { flex: 1 1 0; width: auto; padding: .1rem 0; border: 0; }
  tr:is(:has(> :nth-child(3)), table:has(code) *) > :first-child { flex-basis: 100%; }
  td.error { font-size: .8rem; }
  thead th { font-size: .75rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  thead th { position: static; }
  tr, .cards li { break-inside: avoid; }
  svg { print-color-adjust: exact; }
}
"""
