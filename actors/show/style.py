# SPDX-License-Identifier: Apache-2.0
"""The style sheet of report and viewer: one column on a phone, light and dark, no other file."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1b1e24; --quiet: #626a76; --line: #dde1e7;
  --ground: #f6f7f9; --card: #ffffff; --good: #14804a; --bad: #b3342b; --mark: #d8590b;
  --legal: #2a78d6; --p0: #2a78d6; --p1: #d8590b; --p2: #14804a; --p3: #8a4fc9; --p4: #b58900;
  --p5: #c0276d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7e9ee; --quiet: #9aa3b2; --line: #343a45;
  --ground: #14171c; --card: #1d2128; --good: #4cc38a; --bad: #f08278; --mark: #ff9a57;
  --legal: #6aa9f4; --p0: #6aa9f4; --p1: #ff9a57; --p2: #4cc38a; --p3: #bd93f2; --p4: #e0b64a;
  --p5: #f27fb0; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC",
  sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 20px 16px 60px; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 36px 0 12px; }
h3 { font-size: 1rem; margin: 0 0 6px; }
a { color: var(--legal); }
p { margin: 4px 0; }
.quiet { color: var(--quiet); font-size: .87rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 14px; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(148px, 1fr)); gap: 10px;
  margin: 16px 0 0; padding: 0; list-style: none; }
.figures li { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 10px 12px; }
.figures b { display: block; font-size: 1.3rem; line-height: 1.3;
  font-variant-numeric: tabular-nums; }
.figures span { color: var(--quiet); font-size: .82rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr));
  gap: 12px; }
.chart { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 10px 12px 6px; display: flex; flex-direction: column; }
.chart figcaption { font-weight: 600; font-size: .9rem; }
.chart svg { width: 100%; height: auto; display: block; margin-top: auto; }
.chart text { fill: var(--quiet); font-size: 11px; font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); stroke-width: 1; } .axis { stroke: var(--quiet); stroke-width: 1; }
.line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
.dots circle { fill: currentColor; stroke: var(--card); stroke-width: 1.5; }
.c0 { color: var(--p0); } .c1 { color: var(--p1); } .c2 { color: var(--p2); }
.c3 { color: var(--p3); } .c4 { color: var(--p4); } .c5 { color: var(--p5); }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 2px 0 4px; padding: 0;
  list-style: none; font-size: .82rem; }
.legend li::before { content: ""; display: inline-block; width: 10px; height: 10px;
  border-radius: 3px; background: currentColor; margin-right: 6px; }
.scroll { overflow-x: auto; -webkit-overflow-scrolling: touch; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: 7px 12px 7px 0; border-bottom: 1px solid var(--line);
  vertical-align: middle; }
th { color: var(--quiet); font-weight: 500; white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
tr:last-child td { border-bottom: 0; }
.interval { width: 140px; height: 14px; display: block; }
.interval .track { fill: var(--line); } .interval .reach { fill: var(--p0); opacity: .35; }
.interval .at { fill: var(--p0); }
.badge { display: inline-block; border-radius: 999px; padding: 0 9px; font-size: .78rem;
  border: 1px solid currentColor; white-space: nowrap; }
.right { color: var(--good); } .wrong { color: var(--bad); } .neutral { color: var(--quiet); }
.episode { margin: 0 0 18px; min-width: 0; }
.episode .top { display: flex; gap: 16px; align-items: flex-start; }
.episode .top > div { flex: 1; min-width: 0; }
.episode .gif { width: 300px; max-width: 100%; border: 1px solid var(--line);
  border-radius: 6px; display: block; }
.badges { display: flex; flex-wrap: wrap; gap: 6px; margin-bottom: 6px; }
.strip { display: flex; gap: 12px; overflow-x: auto; padding: 12px 0 6px; margin: 0;
  list-style: none; scroll-snap-type: x proximity; }
.strip > li { flex: 0 0 320px; max-width: 86vw; scroll-snap-align: start; min-width: 0; }
.scene { width: 100%; height: auto; display: block; border: 1px solid var(--line);
  border-radius: 6px; background: #ffffff; }
.scene rect { fill: none; }
.scene .legal { stroke: #2a78d6; stroke-width: 2; stroke-opacity: .85; }
.scene .other { stroke: #7c8594; stroke-width: 1; stroke-opacity: .55; stroke-dasharray: 4 3; }
.scene .hit { stroke: #e8590c; stroke-width: 5; fill: #e8590c; fill-opacity: .14; }
.scene text { font: 13px system-ui, sans-serif; fill: #333a45; }
.words { font-weight: 600; margin: 6px 0 0; overflow-wrap: anywhere; }
.where { color: var(--quiet); font-size: .78rem; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; margin: 0; }
.rewards { display: flex; flex-wrap: wrap; gap: 2px 12px; margin: 4px 0 0; padding: 0;
  list-style: none; font-size: .82rem; font-variant-numeric: tabular-nums; }
.rewards .zero { color: var(--quiet); opacity: .7; }
.mask { display: flex; flex-wrap: wrap; gap: 3px; margin: 6px 0 0; padding: 0; list-style: none;
  font-size: .74rem; }
.mask li { border: 1px solid var(--line); border-radius: 5px; padding: 0 5px;
  color: var(--quiet); }
.mask .chosen { border-color: var(--mark); color: var(--mark); font-weight: 600; }
details summary { cursor: pointer; color: var(--quiet); font-size: .87rem; }
form.filter { display: flex; flex-wrap: wrap; gap: 10px 14px; align-items: end; }
form.filter label { font-size: .8rem; color: var(--quiet); display: grid; gap: 2px; }
select, input, button { font: inherit; padding: 5px 8px; border-radius: 6px;
  border: 1px solid var(--line); background: var(--card); color: var(--ink); max-width: 100%; }
button { cursor: pointer; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr));
  gap: 16px; align-items: start; }
.pair > * { min-width: 0; }
.stepper { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; margin: 10px 0; }
.stepper a, .stepper span { border: 1px solid var(--line); border-radius: 6px; padding: 2px 9px;
  text-decoration: none; background: var(--card); min-width: 34px; text-align: center; }
.stepper .here { border-color: var(--mark); color: var(--mark); font-weight: 600; }
.stepper .off { opacity: .4; }
.question { min-width: 190px; }
.elements td { font-size: .82rem; } .elements td.text { overflow-wrap: anywhere; min-width: 180px; }
@media (max-width: 640px) {
  main { padding: 14px 10px 40px; }
  .figures { grid-template-columns: repeat(2, 1fr); }
  .episode .top { flex-direction: column-reverse; }
  .episode .gif { width: 100%; }
  .strip > li { flex-basis: 82vw; }
  .bar { display: none; }
}
"""


def page(title: str, body: str, *, script: str = "") -> str:
    """A whole page; `title` and `body` are HTML already."""
    scripted = f"<script>{script}</script>" if script else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{title}</title><style>{STYLE}</style></head>'
        f"<body><main>{body}</main>{scripted}</body></html>\n"
    )
