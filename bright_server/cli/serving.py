"""`bright serve`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys

from bright_server import app, backends
from bright_server.cli.options import (
    Subparsers,
    add_database,
    add_json,
    settings_of,
    source,
)
from bright_server.collector import ease_garbage_collection
from bright_server.wire.text import compact_json


def add_serve(subparsers: Subparsers) -> None:
    """Add `bright serve`."""
    parser = subparsers.add_parser("serve", help="run the server")
    add_database(parser)
    parser.add_argument("--host", help=f"address to listen on ({source('host')})")
    parser.add_argument(
        "--port", type=int, help=f"port, 0 for any free one ({source('port')})"
    )
    parser.add_argument(
        "--authority",
        metavar="URL",
        help="address of the authorization service (BRIGHT_AUTHORITY; default: the"
        " bindings in the database); its credential comes from"
        " BRIGHT_AUTHORITY_CREDENTIAL_FILE, never from here",
    )
    parser.add_argument(
        "--conformance-echo",
        action="store_true",
        default=None,
        help="also serve /v1/conformance-echo, for a WebSocket conformance suite"
        " (BRIGHT_CONFORMANCE_ECHO; default off)",
    )
    add_json(parser)
    parser.set_defaults(run=_serve)


def _serve(parsed: argparse.Namespace) -> int:
    settings = settings_of(parsed)
    backends.refuse_foreign(settings)
    logging.basicConfig(
        stream=sys.stderr,
        level=settings.log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    # It would log whole request lines, and a careless client may put a secret there.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)

    def listening(host: str, port: int) -> None:
        facts = {
            "event": "listening",
            "host": host,
            "port": port,
            "pid": os.getpid(),
            "database": str(settings.database),
        }
        words = (
            f"Bright listens on ws://{host}:{port}/v1/extension ({settings.database})"
        )
        print(compact_json(facts) if parsed.json else words, flush=True)

    ease_garbage_collection()
    asyncio.run(app.serve(settings, listening))
    return 0
