"""The model's pure rules and the extension's give the same for the same."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

from extension_harness.model.backoff import after_close
from extension_harness.model.credentials import mark_of
from extension_harness.model.frames import pack_batch, read_frame
from extension_harness.model.normal_form import ReadFact, read_observation
from extension_harness.model.paging import Position, SeenPage, next_position
from extension_harness.model.redaction import redact
from extension_harness.model.settings import settings_from
from extension_harness.model.steps import Json, Value
from extension_harness.model.text import canonical_json, digest_of

SCRIPT = Path(__file__).with_name("shared_rules.mjs")
EXAMPLES = Path(__file__).parents[2] / "wire_examples"
ROUNDS = 300
ODD = (
    "",
    "a",
    "é",
    "😀",
    "\ud800",
    "\uffff",
    "a\0b",
    "sign=abc&x=1",
    '{"ctoken":"s3cret","a":1}',
    '"{\\"ctoken\\":\\"s3\\"}"',
    "chatToken=x;y",
    "x" * 300,
)
NUMBERS = (0, 1, -1, 1.5, 1e21, 1e-7, 1_750_000_000_000, 2**53, 999_999_999_999_999)
NAMES = ("messageId", "token", "aEncrypt", "z", "ä", "text", "sign", "😀")


def in_the_extension(cases: list[tuple[str, list[Any]]]) -> list[Any]:
    """What the extension's own code makes of each case."""
    beside_python = str(Path(sys.executable).parent)
    node = shutil.which("node", path=beside_python) or shutil.which("node")
    assert node, "no node: `make setup` puts it beside the environment's Python"
    run = subprocess.run(
        [node, str(SCRIPT)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found: list[Any] = json.loads(run.stdout)
    return found


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - chance, not secrecy


def value(random: Random, depth: int = 3) -> Value:
    """Any JSON value, odd ones more often than a page would have them."""
    kind = random.randrange(8 if depth else 5)
    if kind == 0:
        return random.choice((None, True, False))
    if kind == 1:
        return random.choice(NUMBERS)
    if kind < 5:
        return random.choice(ODD)
    if kind == 5:
        return [value(random, depth - 1) for _ in range(random.randrange(3))]
    names = random.sample(NAMES, random.randrange(4))
    return {name: value(random, depth - 1) for name in names}


def observation(random: Random) -> Value:
    """A row, good or with a fault or two."""
    row: Any = {
        "surface": "history",
        "messageId": "m1",
        "conversationId": "c1",
        "senderId": "s1",
        "direction": random.choice(("inbound", "outbound", "up", None)),
        "sentAtMs": 1_750_000_000_000,
        "kind": random.choice(("text", None, 5)),
        "text": random.choice(ODD),
        "raw": value(random),
    }
    for name in random.sample(sorted(row), random.randrange(4)):
        row[name] = value(random)
    if random.random() < 0.05:
        row["notAnObject"] = "x"
    return row


def test_json_digests_and_redaction_agree() -> None:
    """OT-01, OT-32: the same content has the same digest on both sides, secrets out."""
    random = seeded(1)
    values = [value(random) for _ in range(ROUNDS)]
    rules = {"canonical": canonical_json, "digest": digest_of, "redact": redact}
    cases: list[tuple[str, list[Any]]] = [
        (rule, [each]) for rule in rules for each in values
    ]
    found = in_the_extension(cases)
    for (rule, (given,)), other in zip(cases, found, strict=True):
        assert rules[rule](given) == other, (rule, given)


def test_observations_are_judged_alike() -> None:
    """OT-30, OT-32: the same rows are facts, and the same anomalies have one code."""
    random = seeded(2)
    rows = [observation(random) for _ in range(2 * ROUNDS)]
    asked = [random.choice(("c1", None)) for _ in rows]
    found = in_the_extension(
        [
            ("observation", [row, {"channelAccountId": "a", "conversationId": one}])
            for row, one in zip(rows, asked, strict=True)
        ]
    )
    facts = 0
    for row, one, other in zip(rows, asked, found, strict=True):
        read = read_observation(row, "a", one)
        if isinstance(read, ReadFact):
            facts += 1
            mine: Any = {"fact": read.fact}
            if read.raw is not None:
                mine["raw"] = read.raw
        else:
            mine = read.found()
        assert mine == other, row
    assert 0 < facts < len(rows)


def test_a_history_is_walked_alike() -> None:
    """OT-44: one page in, the same next position out."""
    random = seeded(3)
    bounds = {"pageSize": 50, "maxPageSize": 800}
    cases: list[tuple[Json, Json]] = []
    for _ in range(4 * ROUNDS):
        asked: Json = {
            "cursor": random.choice((None, 1_000, 2_000)),
            "count": random.choice((50, 100, 800)),
            "isPastEdge": random.random() < 0.3,
        }
        page: Json = {
            "rows": random.choice((0, 3, 50, 100, 800)),
            "oldestMs": random.choice((None, 500, 1_000, 2_000)),
            "reportedNext": random.choice((None, 500, 2_000)),
            "hasMore": random.choice((None, True, False)),
        }
        cases.append((asked, page))
    found = in_the_extension([("position", [a, p, bounds]) for a, p in cases])
    for (asked, page), other in zip(cases, found, strict=True):
        decision = next_position(
            Position(asked["cursor"], asked["count"], asked["isPastEdge"]),
            SeenPage(
                page["rows"], page["oldestMs"], page["reportedNext"], page["hasMore"]
            ),
            page_size=50,
            max_page_size=800,
        )
        following = decision.next and {
            "cursor": decision.next.cursor,
            "count": decision.next.count,
            "isPastEdge": decision.next.is_past_edge,
        }
        assert other == {
            "next": following,
            "isComplete": decision.is_complete,
            "isStuck": decision.is_stuck,
        }, (asked, page)


def test_frames_are_read_alike() -> None:
    """What Bright sends, whole or damaged, reads the same or as nothing."""
    random = seeded(4)
    texts = ["", "[]", "null", '{"type":5}', "{"]
    for example in sorted(EXAMPLES.glob("*.json")):
        frame = json.loads(example.read_text("utf-8"))["frame"]
        texts += [json.dumps(frame), *damaged(frame, random)]
    found = in_the_extension([("frame", [text]) for text in texts])
    assert any(found)
    for text, other in zip(texts, found, strict=True):
        assert read_frame(text) == other, text


def damaged(frame: dict[str, Any], random: Random) -> list[str]:
    copies = []
    for name in frame:
        copies.append(json.dumps({**frame, name: value(random)}))
        copies.append(json.dumps({k: v for k, v in frame.items() if k != name}))
    return copies


def test_batches_are_packed_alike() -> None:
    """A frame takes the same messages: not one byte more than it may have."""
    random = seeded(5)
    envelope = {"type": "observation.batch", "requestId": "r"}
    cases: list[tuple[list[Json], int]] = []
    for _ in range(ROUNDS):
        wires = [value(random) for _ in range(random.randrange(1, 6))]
        entries: list[Json] = [
            {"part": n, "wire": {"w": wire}} for n, wire in enumerate(wires)
        ]
        cases.append((entries, random.randrange(60, 600)))
    found = in_the_extension([("pack", [e, envelope, b]) for e, b in cases])
    for (entries, most), other in zip(cases, found, strict=True):
        given: list[tuple[int, Json]] = [
            (entry["part"], entry["wire"]) for entry in entries
        ]
        packed = pack_batch(given, envelope, most)
        assert other == {
            "frame": packed.frame or None,
            "parts": list(packed.parts),
            "tooLarge": packed.too_large,
        }


def test_coming_back_and_settings_agree() -> None:
    """OT-60: a close code means the same on both sides; so does what is configured."""
    random = seeded(6)
    codes = (1000, 1006, 1012, 4000, 4401, 4403, 4408, 4409, 4499, 4500)
    closes = [
        (random.choice(codes), random.randrange(40), random.random())
        for _ in range(ROUNDS)
    ]
    bounds = {"baseMs": 500, "capMs": 25_000}
    stored: list[Value] = [
        None,
        {},
        {"ackTimeoutMs": 5, "historyPaceMs": -1},
        {"unknown": 1},
    ]
    stored += [{"backoffCapMs": 90_000, "connectWhilePageOpen": 1}]
    stored += [{"connectWhilePageOpen": False, "pageAttempts": "3"}]
    found = in_the_extension(
        [("close", [code, attempt, bounds, c]) for code, attempt, c in closes]
        + [("settings", [each]) for each in stored]
    )
    for (code, attempt, chance), other in zip(closes, found, strict=False):
        delay = after_close(code, attempt, 500, 25_000, iter([chance]).__next__)
        mine = {"stop": True} if delay is None else {"stop": False, "delayMs": delay}
        assert mine == other
    for given, other in zip(stored, found[len(closes) :], strict=True):
        assert dataclasses.asdict(settings_from(given)) == other


def test_credentials_are_told_apart_alike() -> None:
    """OT-60: the same address and token have the same mark, others another."""
    pairs = [(address, token) for address in (None, *ODD[1:]) for token in ODD]
    marks = [mark_of(*pair) for pair in pairs]
    assert in_the_extension([("mark", list(pair)) for pair in pairs]) == marks
    assert len(set(marks)) == len(marks)
