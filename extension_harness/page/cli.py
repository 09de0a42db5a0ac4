"""`bright page`: the simulated OneTalk page alone, until Ctrl-C."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from types import FrameType

from extension_harness.page.corpus import DEFAULT_ACCOUNT, Corpus
from extension_harness.page.document import Timeline
from extension_harness.page.errors import PageError
from extension_harness.page.server import SimulatedPage


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `page` to the command line."""
    parser = subparsers.add_parser(
        "page", help="run the simulated OneTalk page alone, with its ledger"
    )
    parser.add_argument("--port", type=int, default=0, help="TLS port; 0: any")
    parser.add_argument(
        "--control-port", type=int, default=0, help="plain port; 0: any"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--account", default=DEFAULT_ACCOUNT, help="the seller's aliId")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM; 1 when the page cannot start."""
    try:
        corpus = Corpus.generate(
            arguments.seed,
            arguments.conversations,
            arguments.messages,
            account=arguments.account,
        )
        page = SimulatedPage(
            corpus,
            port=arguments.port,
            control_port=arguments.control_port,
            timeline=Timeline(open_first=True),
        ).start()
    except PageError as error:
        print(f"bright page: {error}", file=sys.stderr)
        return 1
    stop = threading.Event()

    def end(_: int, __: FrameType | None) -> None:
        stop.set()

    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, end)
    _say(page, as_json=arguments.json)
    stop.wait()
    page.stop()
    return 0


def _say(page: SimulatedPage, *, as_json: bool) -> None:
    facts = {
        "event": "listening",
        "url": page.url,
        "localUrl": page.local_url,
        "controlUrl": page.control_url,
        "port": page.port,
        "hostRules": page.host_rules,
        "spki": page.spki,
        "account": page.corpus.account,
        "conversations": len(page.corpus.conversations),
        "expected": len(page.ledger.expected()),
        "anomalies": len(page.ledger.anomalies()),
    }
    if as_json:
        print(json.dumps(facts), flush=True)
        return
    print(
        f"Simulated OneTalk page: {facts['conversations']} conversations, "
        f"{facts['expected']} messages, {facts['anomalies']} anomalies\n"
        f"  look at it   {page.local_url}\n"
        f"  control      {page.control_url}/status\n"
        f"  in Chromium  {page.url}\n"
        f'    --host-resolver-rules="{page.host_rules}"\n'
        f"    --ignore-certificate-errors-spki-list={page.spki}\n"
        "Ctrl-C ends it.",
        flush=True,
    )
