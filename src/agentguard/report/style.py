"""The one style sheet: two settings of light, two of width, and paper.

Colours are few, and never alone: what is flagged or blocked is also said in words, marks differ in form. Orange and
dark red differ in lightness, so they stay apart where hues do not. Text has a contrast of at least 4.5 to 1.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Final

__all__ = ["POLICY", "SHEET"]

_LIGHT: Final = (
    "--paper:#fdfdfc;--ink:#1a1c20;--quiet:#5a6068;--rule:#d9dbde;--pale:#c9ced6;--band:#eef2f6;"
    "--blue:#0b5cad;--flag:#c77d00;--block:#a3123b;--link:#0b5cad"
)
_DARK: Final = (
    "--paper:#14161a;--ink:#e6e8eb;--quiet:#a0a7b0;--rule:#32363d;--pale:#474d57;--band:#1d232b;"
    "--blue:#6db1f2;--flag:#f0b23d;--block:#ff7c95;--link:#8cc2f7"
)

SHEET: Final = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
html{{-webkit-text-size-adjust:100%;text-size-adjust:100%}}
body{{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}}
header,main,footer{{max-width:64rem;margin:0 auto;padding:0 1rem}}
header{{padding-top:2rem}}
footer{{padding:2rem 1rem 3rem;color:var(--quiet);font-size:.875rem}}
h1{{font-size:1.75rem;line-height:1.2;margin:0 0 .25rem;font-weight:650;overflow-wrap:anywhere}}
h2{{font-size:1.25rem;margin:3rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--rule);font-weight:650}}
h3{{font-size:1.05rem;margin:2rem 0 .5rem;font-weight:650;overflow-wrap:anywhere}}
h4{{font-size:.95rem;margin:1.5rem 0 .25rem;font-weight:650;overflow-wrap:anywhere}}
p{{margin:.5rem 0;max-width:44rem;overflow-wrap:anywhere}}
a{{color:var(--link);text-underline-offset:.15em}}
:focus-visible{{outline:2px solid var(--blue);outline-offset:2px}}
code,pre{{font:.875em/1.45 ui-monospace,"Cascadia Mono",Menlo,Consolas,monospace}}
pre{{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--band);padding:.75rem;margin:.25rem 0}}
.quiet{{color:var(--quiet)}}
.unseen{{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}}
.skip{{position:absolute;left:-99rem}}
.skip:focus{{left:1rem;top:.5rem}}
.figures{{display:flex;flex-wrap:wrap;gap:.75rem 2.5rem;margin:1.5rem 0 0;padding:0}}
.figures div{{min-width:5rem}}
.figures dt{{color:var(--quiet);font-size:.875rem}}
.figures dd{{margin:0;font-size:1.75rem;line-height:1.2;font-weight:600;font-variant-numeric:tabular-nums}}
.figures dd small{{font-size:.875rem;font-weight:400;color:var(--quiet);margin-left:.4rem}}
.findings{{padding-left:1.2rem;margin:.5rem 0;max-width:44rem}}
.findings li{{margin:.35rem 0;overflow-wrap:anywhere}}
.pair{{display:grid;gap:0 2.5rem;grid-template-columns:minmax(0,1fr)}}
@media (min-width:56rem){{.pair{{grid-template-columns:minmax(0,1fr) minmax(0,1fr)}}}}
.verdict{{display:inline-block;font-size:.8125rem;font-weight:600;border:1px solid currentColor;border-radius:.2rem}}
.verdict{{padding:0 .4rem;margin-right:.5rem}}
.verdict.block{{color:var(--paper);background:var(--block);border-color:var(--block)}}
.verdict.flag{{border:2px solid var(--flag)}}
details{{border-top:1px solid var(--rule)}}
details:last-of-type{{border-bottom:1px solid var(--rule)}}
summary{{cursor:pointer;padding:.55rem 0;overflow-wrap:anywhere}}
summary::marker{{color:var(--quiet)}}
details>.inner{{padding:0 0 1.5rem}}
details.numbers,details.numbers:last-of-type{{border:0}}
details.numbers>summary{{width:fit-content;padding:.15rem 0;font-size:.875rem;color:var(--quiet)}}
.scroll{{overflow-x:auto;max-width:100%;margin:.25rem 0 .75rem}}
table{{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}}
th,td{{text-align:left;vertical-align:top;padding:.3rem 1.25rem .3rem 0;border-bottom:1px solid var(--rule)}}
th{{font-weight:400}}
thead th{{color:var(--quiet);white-space:nowrap;vertical-align:bottom}}
td.n,th.n{{text-align:right;white-space:nowrap}}
.facts{{display:grid;grid-template-columns:minmax(0,1fr);margin:.5rem 0;font-size:.9375rem}}
.facts dt{{color:var(--quiet);font-size:.875rem}}
.facts dd{{margin:0 0 .5rem;overflow-wrap:anywhere}}
@media (min-width:40rem){{.facts{{grid-template-columns:11rem minmax(0,1fr)}}}}
.figure{{margin:1.25rem 0 1.5rem;min-width:0}}
figcaption{{margin-bottom:.4rem;font-size:.9375rem;overflow-wrap:anywhere}}
figcaption .quiet{{margin-left:.6rem;font-size:.875rem}}
.legend{{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1.25rem;margin:.25rem 0;padding:0;font-size:.875rem}}
.legend svg{{margin-right:.35rem}}
.plot{{display:grid;grid-template-columns:60px minmax(0,1fr)}}
.plot.both{{grid-template-columns:60px minmax(0,1fr) 78px}}
.plot .left{{margin-left:-18px}}
.plot .body,.plot .under{{width:100%;display:block;overflow:visible}}
.plot .under{{grid-column:2}}
.body path{{vector-effect:non-scaling-stroke}}
.fixed{{display:block;width:100%;height:auto;overflow:visible}}
.square{{max-width:306px}}
.waterfall{{max-width:340px}}
svg text{{fill:var(--quiet);font-size:12px;font-variant-numeric:tabular-nums}}
.waterfall text{{fill:var(--ink);font-size:13px;paint-order:stroke;stroke:var(--paper);stroke-width:4px}}
.waterfall text.quiet{{fill:var(--quiet);font-size:12px}}
svg path{{fill:none;stroke:var(--ink);stroke-width:1}}
svg .within{{fill:var(--band)}}
svg .limit{{stroke:var(--quiet);stroke-dasharray:4 3}}
svg path.centre{{stroke:var(--quiet)}}
svg .line{{stroke:var(--blue);opacity:.45}}
svg .range{{stroke:var(--blue);stroke-width:2;opacity:.4}}
svg .value{{stroke:var(--blue);stroke-width:3.5;stroke-linecap:round}}
svg .beyond{{stroke:var(--block);stroke-width:9;stroke-linecap:round}}
svg .hole{{stroke:var(--paper);stroke-width:4.5;stroke-linecap:round}}
svg .run{{stroke:var(--flag);stroke-width:2}}
svg .alarm{{stroke:var(--ink);stroke-width:6;stroke-linecap:square}}
svg .bar{{fill:var(--blue)}}
svg .calls{{fill:var(--pale)}}
svg .flag{{fill:var(--flag)}}
svg .block{{fill:var(--block)}}
svg .keycalls,svg .keyflag,svg .keyblock{{stroke:var(--pale);stroke-width:10}}
svg .keyflag{{stroke:var(--flag)}}
svg .keyblock{{stroke:var(--block)}}
svg .threshold{{stroke:var(--ink);stroke-dasharray:2 3}}
svg .frame{{fill:none;stroke:var(--rule)}}
svg .grid{{stroke:var(--rule)}}
svg .ideal{{stroke:var(--quiet);stroke-dasharray:4 3}}
svg .reach{{stroke:var(--blue);stroke-width:1.5}}
svg .share{{fill:var(--blue)}}
svg .against{{fill:var(--block)}}
svg .for{{fill:var(--blue)}}
svg .end{{fill:var(--quiet)}}
svg .link{{stroke:var(--quiet);opacity:.6}}
svg .even{{stroke:var(--rule)}}
@media (max-width:40rem){{
.stacked thead{{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}}
.stacked,.stacked tbody,.stacked tr{{display:block}}
.stacked tr{{border-bottom:1px solid var(--rule);padding:.4rem 0}}
.stacked th,.stacked td{{display:block;border:0;padding:0;overflow-wrap:anywhere}}
.stacked th.n,.stacked td.n{{text-align:left;white-space:normal}}
.stacked td.n{{display:inline-block;margin-right:1rem}}
.stacked td:empty{{display:none}}
.stacked td::before{{content:attr(data-label) " ";color:var(--quiet)}}
}}
@media (max-width:30rem){{svg .beyond{{stroke-width:7}}svg .hole{{stroke-width:3}}svg .value{{stroke-width:2.5}}}}
.opened{{display:grid;gap:1rem 2.5rem;grid-template-columns:minmax(0,1fr);align-items:start}}
@media (min-width:56rem){{.opened{{grid-template-columns:340px minmax(0,1fr)}}}}
@media print{{
:root{{color-scheme:light;{_LIGHT}}}
body{{font-size:11pt}}
header,main,footer{{max-width:none}}
details::details-content{{content-visibility:visible;block-size:auto}}
figure,tr{{break-inside:avoid}}
h2,h3,h4{{break-after:avoid}}
.scroll{{overflow:visible}}
}}
"""

POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(SHEET.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'"
)
"""What the page may do, for the browser to hold it to: show this style sheet, and nothing else."""
