"""Whatever comes in, the session answers as said, and serves the next frame."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bright_server.authorization.contract import Standing
from bright_server.commit.groups import (
    BatchCommitted,
    BuyerFacts,
    CardsStored,
    Claim,
    ClaimUnproven,
    Discovery,
    DiscoveryStored,
    FactsStored,
    ObservedBatch,
    ObservedProfiles,
    Outcome,
    ProfilesStored,
    ProgressStored,
    RenderedCards,
    Work,
)
from bright_server.ingest.effects import (
    Answered,
    CheckStanding,
    Close,
    CloseCode,
    Effect,
    Registered,
    Send,
    Submit,
)
from bright_server.ingest.session import ExtensionSession
from bright_server.messages import BindingId, Grant
from bright_server.settings import Settings
from bright_server.wire.answers import ErrorCode
from tests.bright_server.frames import (
    ACCOUNT,
    CONVERSATION,
    Frame,
    batch,
    buyer_facts,
    card,
    cards,
    claim,
    command_result,
    discovered,
    heartbeat,
    hello,
    message,
    name_of,
    profile,
    profiles,
    progress,
    register_page,
)

NOW_MS = 1_750_000_500_000
GRANT = Grant(BindingId("bnd_1"), 1, frozenset({ACCOUNT}))
CODES = set(ErrorCode.__args__)  # type: ignore[attr-defined]

DAMAGES: list[dict[str, object]] = [
    {},
    {"senderId": 5},
    {"text": "\ud800"},
    {"kind": ""},
]

# The first draw of text builds tables, which counts as slow on a busy machine.
tried = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=8,
)
good_frames = st.sampled_from(
    [
        heartbeat(),
        batch(message(1), message(2)),
        claim(1),
        progress(),
        discovered(CONVERSATION, "other"),
        register_page(),
        hello("brt_x"),
        profiles(profile(1), profile(2, aliId=None)),
        cards(card(1), card(2, content=["a", {"b": 1}])),
        buyer_facts(1),
        command_result("abc"),
    ]
)


@st.composite
def damaged_frames(draw: st.DrawFn) -> Frame:
    """A good frame in which one thing, at any depth, is replaced, removed or added."""
    frame: Frame = json.loads(json.dumps(draw(good_frames)))
    place: Any = frame
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            break
        key = draw(st.sampled_from(keys))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and draw(st.booleans()):
            place = inner
            continue
        if draw(st.booleans()) or not isinstance(place, dict):
            place[key] = draw(json_values)
        else:
            del place[key]
        break
    return frame


def opened() -> ExtensionSession:
    session = ExtensionSession("connection-1", "store-1", Settings())
    receive(session, json.dumps(hello("brt_x")))
    session.admitted(GRANT, 0)
    return session


def receive(session: ExtensionSession, text: str) -> list[Effect]:
    return session.receive_text(text.encode(), NOW_MS)


def outcome_of(work: Work) -> Outcome:
    if isinstance(work, ObservedBatch):
        return BatchCommitted(range(1, len(work.messages) + 1))
    if isinstance(work, Discovery):
        return DiscoveryStored([None] * len(work.conversations))
    if isinstance(work, Claim):
        return ClaimUnproven()
    if isinstance(work, ObservedProfiles):
        return ProfilesStored(frozenset(range(len(work.profiles))))
    if isinstance(work, RenderedCards):
        return CardsStored(len(work.cards))
    if isinstance(work, BuyerFacts):
        return FactsStored(taken=True)
    return ProgressStored()


def carried_out(session: ExtensionSession, effects: list[Effect]) -> list[Effect]:
    """What the session says in the end, everything that it asked for being done."""
    said: list[Effect] = []
    for effect in effects:
        if isinstance(effect, Submit):
            said += session.work_done(effect.ticket, outcome_of(effect.work))
        elif isinstance(effect, CheckStanding):
            said += session.standing_known(effect.asked_by, Standing.VALID, 0)
        else:
            said.append(effect)
    # These two are news for others, and nothing that is said on this connection.
    return [each for each in said if not isinstance(each, Answered | Registered)]


def assert_goes_on(session: ExtensionSession) -> None:
    (submit,) = receive(session, json.dumps(batch(message(7), request_id="next")))
    assert isinstance(submit, Submit)
    (ack,) = session.work_done(submit.ticket, outcome_of(submit.work))
    assert isinstance(ack, Send)
    assert json.loads(ack.text)["requestId"] == "next"


def assert_is_right(effects: list[Effect]) -> None:
    for effect in effects:
        assert isinstance(effect, Send)
        frame = json.loads(effect.text)
        effect.text.encode()  # what goes over the wire is well-formed Unicode
        if frame["type"] == "ws.error":
            assert frame["code"] in CODES
            assert frame["message"]


@tried
@given(damaged_frames())
def test_a_damaged_frame_is_answered_and_the_next_good_one_is_served(
    frame: Frame,
) -> None:
    session = opened()

    said = carried_out(session, receive(session, json.dumps(frame)))

    if any(isinstance(effect, Close) for effect in said):
        # Only one damage ends a connection: another authorization version (OT-60).
        assert frame["type"] == "heartbeat"
        assert frame["authorizationVersion"] != 1
        return
    assert_is_right(said)
    assert_goes_on(session)


@tried
@given(st.text(st.characters(codec="utf-8"), max_size=60) | json_values.map(json.dumps))
def test_any_text_is_answered_by_an_error_and_nothing_else(text: str) -> None:
    session = opened()

    said = carried_out(session, receive(session, text))

    assert len(said) == 1
    assert_is_right(said)
    assert_goes_on(session)


@tried
@given(damaged_frames() | json_values)
def test_before_hello_any_frame_either_greets_or_ends_with_4400(frame: object) -> None:
    session = ExtensionSession("connection-1", "store-1", Settings())

    (effect,) = receive(session, json.dumps(frame))

    if isinstance(effect, Close):
        assert effect.code == CloseCode.BROKEN_HANDSHAKE
        assert len(effect.reason.encode()) <= 123
    else:
        assert isinstance(frame, dict)
        assert frame["type"] == "hello"


@tried
@given(st.lists(st.integers(0, 5), max_size=12), st.data())
def test_each_message_has_one_result_in_the_batchs_order(
    numbers: list[int], data: st.DataObject
) -> None:
    session = opened()
    damage = st.sampled_from(DAMAGES)
    sent = [message(number, **data.draw(damage)) for number in numbers]

    said = carried_out(session, receive(session, json.dumps(batch(*sent))))

    (ack,) = said
    assert isinstance(ack, Send)
    results = json.loads(ack.text)["results"]
    assert [each["candidateKey"] for each in results] == [
        each["candidateKey"] for each in sent
    ]
    assert [each["status"] == "rejected" for each in results] == [
        each["senderId"] == 5 or each["text"] == "\ud800" or each["kind"] == ""
        for each in sent
    ]


PROFILE_DAMAGES: list[dict[str, object]] = [
    {},
    {"profile": 5},
    {"aliId": []},
    {"profile": {"a": "\ud800"}},
    {"profile": {"cookie": "x"}},
]


@tried
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(PROFILE_DAMAGES))))
def test_ot_83_each_profile_is_acked_or_rejected_by_its_exact_name(
    entries: list[tuple[int, dict[str, object]]],
) -> None:
    """OT-83, OT-85: what is acknowledged is exactly what the store was given."""
    session = opened()
    sent = [profile(number, **damage) for number, damage in entries]

    said = carried_out(session, receive(session, json.dumps(profiles(*sent))))

    (ack,) = said
    assert isinstance(ack, Send)
    answer = json.loads(ack.text)
    good = [each for each, (_, damage) in zip(sent, entries, strict=True) if not damage]
    bad = [each for each, (_, damage) in zip(sent, entries, strict=True) if damage]
    assert answer["acks"] == [name_of(each) for each in good]
    rejected = answer.get("rejected", [])
    assert [{**each, "code": ""} for each in rejected] == [
        {**name_of(each), "code": ""} for each in bad
    ]
