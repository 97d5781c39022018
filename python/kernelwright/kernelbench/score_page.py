"""One HTML page with the tables and every kernel."""

from __future__ import annotations

import html
from typing import Any

_style = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em}table{border-collapse:collapse}
td,th{padding:.2em .8em;text-align:left;border-bottom:1px solid #ccc}pre{background:#f6f6f6;padding:1em;overflow:auto}
.solved{color:#060}.wrong{color:#a00}"""


def score_page(report: dict[str, Any]) -> str:
    from .scoring import hardened_table

    rows = report["hardened"]
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><title>KernelBench</title>",
             f"<style>{_style}</style>", "<h1>KernelBench</h1>",
             f"<pre>{html.escape(hardened_table(rows, report['controls'], report['remembered']))}</pre>"]
    if "stock" in report:
        commit, device = (html.escape(report["stock"][key]) for key in ("commit", "device"))
        parts.append(f"<h2>Stock scorer</h2><p>KernelBench {commit} on {device}</p>")
    parts.append("<h2>Problems</h2><table><tr><th>problem<th>name<th>result<th>time<th>note</tr>")
    for row in rows:
        parts.append(f"<tr><td>{_link(row)}<td>{html.escape(row['title'])}<td class={'solved' if row.get('correct') else 'wrong'}>"
                     f"{html.escape(str(row['status']))}<td>{_time(row)}<td>{html.escape(row.get('degenerate') or '')}</tr>")
    parts.append("</table><h2>Kernels</h2>")
    for row in rows:
        if row.get("kernel"):
            key, title, status = (html.escape(str(row[name])) for name in ("key", "title", "status"))
            parts.append(f"<h3 id={key}>{key} {title}: {status}</h3>"
                         f"<p>{html.escape(row.get('summary') or '')}</p><pre>{html.escape(row['kernel'])}</pre>")
    return "\n".join(parts) + "</html>\n"


def _link(row: dict[str, Any]) -> str:
    key = html.escape(row["key"])
    return f'<a href="#{key}">{key}</a>' if row.get("kernel") else key


def _time(row: dict[str, Any]) -> str:
    return f"{row['time_us']:.1f} us ({html.escape(str(row.get('time_source')))})" if row.get("time_us") else ""
