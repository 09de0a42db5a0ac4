"""The page's HTML: inline globals first, everything else by its scripts, later."""

from __future__ import annotations

import html
import json
from dataclasses import asdict, dataclass

from extension_harness.page.dialects import events
from extension_harness.page.dialects.spelling import opaque_id
from extension_harness.page.serving import Serving

SCRIPTS = ("simulator", "sdk", "bus", "list", "thread", "socket", "boot")


@dataclass(frozen=True, slots=True)
class Timeline:
    """When the parts of the page appear after its HTML, in milliseconds.

    Real pages take seconds; the defaults are short, so that tests are. `noise_every_ms`
    0 leaves the event bus quiet between messages; `open_first` opens a conversation, as
    a person would, so that the page makes its own history calls.
    """

    sdk_ms: int = 100
    emitter_ms: int = 200
    full_list_ms: int = 300
    noise_every_ms: int = 400
    open_first: bool = False


LOADING_HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>OneTalk (simulated)</title>
<link rel="icon" href="data:,"></head>
<body><div class="page-loading">Alibaba is loading...</div></body></html>
"""
"""A page that never comes to its end: it does not even say whose it is."""


def script_json(value: object) -> str:
    """Return JSON that may stand inside a script element."""
    return json.dumps(value).replace("</", "<\\/").replace("<!--", "<\\!--")


def page_html(serving: Serving, timeline: Timeline) -> str:
    """Return the HTML of `weblitePWA.htm` as it is at this moment."""
    state = serving.state
    switches = state.switches.current
    account = switches.account or state.corpus.account
    generation = switches.encrypted_generation
    if switches.loading:
        return LOADING_HTML
    config = {
        "timeline": asdict(timeline),
        "switches": switches.public(),
        "nested": "M08" in state.corpus.messy,
        "noise": events.NOISE if "M41" in state.corpus.messy else [["BaaSTick", {}]],
    }
    scripts = "\n".join(
        f'<script src="/__simulator__/static/{name}.js"></script>' for name in SCRIPTS
    )
    encrypted = html.escape(opaque_id(account, generation))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>OneTalk (simulated)</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/__simulator__/static/style.css">
<script>
window.aliId = '{account}';
window.aliIdEncrypt = "{encrypted}";
window.currentUserAccountId = "{account[-9:]}";
window.currentUserAccountIdEncry = '{html.escape(opaque_id(account[-9:], generation))}';
window.__VMFsConv__cache__ = {script_json(serving.vm_cache())};
window.__DBFsConv__cache__ = [];
window.__simulator__ = {script_json(config)};
</script>
</head>
<body>
{_body(account)}
{scripts}
</body>
</html>
"""


def _body(account: str) -> str:
    return f"""<header class="top-bar">
<span class="mark"></span><strong>OneTalk</strong>
<small>simulated page, account {account}</small>
<div class="connection-status-container" role="status" hidden>
<span class="status-tip">网络连接已经断开</span></div>
</header>
<main class="columns">
<nav class="conversation-list" aria-label="Conversations">
<input class="search-input" type="search" placeholder="Search contacts"
 aria-label="Search contacts">
<div class="conversation-scroller"><div class="conversation-canvas"></div></div>
</nav>
<section class="message-container" aria-label="Messages">
<div class="content-header">Choose a conversation</div>
<div class="message-list" tabindex="0" aria-label="Messages"></div>
<div class="send-bar">
<textarea class="send-textarea" rows="2" placeholder="Write a message"
 aria-label="Message"></textarea>
<button class="send-tool-button" type="button">Send</button>
</div>
</section>
<iframe class="alicrm-frame" title="Customer card" src="/message/alicrm.htm"></iframe>
</main>"""


def customer_html(name: str) -> str:
    """Return the customer card that the page shows in a frame."""
    shown = html.escape(name) or "No customer chosen"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Customer</title>
<link rel="stylesheet" href="/__simulator__/static/style.css"></head>
<body style="display:block;padding:18px;background:var(--panel)">
<article class="alicrm-customer-detail-card"><h3>{shown}</h3>
<p style="color:var(--soft)">Simulated customer card</p></article></body></html>
"""
