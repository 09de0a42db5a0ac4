"""What has become of the authorization is shown, and heeded (OT-60).

Bright's frames and close codes come from a script here, so that each comes when it is
asked for. A displaced connection is displaced by a real one.
"""

from __future__ import annotations

import json
import time

import pytest
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from e2e.rigs import SHORT
from e2e.scripted_bright import ScriptedBright, Talk
from e2e.workers import worker_status
from extension_harness.browser import Browser
from extension_harness.rig import Rig
from extension_harness.storage import ExtensionStorage
from extension_harness.waiting import wait_until

ACCOUNT = "2500000000001"
SAYS = "part => document.querySelector('#state-detail').textContent.includes(part)"
OUTCOME = "part => document.getElementById('outcome').textContent.includes(part)"
QUIET_SECONDS = 2.5


def scripted(*scenes: str) -> ScriptedBright:
    """A Bright whose connections go as told, one after the other; then all is well."""

    def script(talk: Talk) -> None:
        scene = scenes[talk.number - 1] if talk.number <= len(scenes) else "serve"
        if scene == "silent":
            talk.receive(60)
            return talk.close(4503)
        if scene == "unknown":
            talk.receive(60)
            return talk.close(4401)
        talk.greet()
        if scene == "serve":
            return talk.serve()
        talk.send({"type": "binding.revoked", "reason": scene})
        return talk.close(4401)

    return ScriptedBright(script, [ACCOUNT])


def greet_and_serve(talk: Talk) -> None:
    talk.greet()
    talk.serve()


def connect_to(
    browser: Browser, bright: ScriptedBright, *, is_bound: bool = True
) -> None:
    ExtensionStorage(browser).set(
        {
            "serverUrl": bright.url,
            "bindingToken": "token" if is_bound else "",
            "settings": {**SHORT, "idleGraceMs": 60_000},
        }
    )


def state(browser: Browser) -> str:
    return str(worker_status(browser)["connection"]["state"])


def keep_wanting(browser: Browser) -> None:
    """Something waits for Bright, so that a connection is wanted without any page."""
    with browser.extension_page() as page:
        page.evaluate(
            """async (account) => {
              const { Database } = await import("/store/database.js");
              const { observeProfiles } = await import("/store/profiles.js");
              const { takeList } = await import("/store/checkpoints.js");
              const store = new Database(indexedDB, () => {});
              const conversationId = `${account}-3500000000002#11011@icbu`;
              const listed = { conversationId, latestMessageAtMs: 5 };
              await takeList(store, account, [listed], 5);
              await observeProfiles(store, account, [{
                conversationId, aliId: "3500000000002", profile: { name: "Ines" },
                fingerprint: "f", observedAtMs: 5,
              }], 5);
            }""",
            ACCOUNT,
        )


def test_without_a_binding_no_connection_is_tried(browser: Browser) -> None:
    """OT-60: however much waits for Bright; with one it goes on by itself."""
    keep_wanting(browser)
    with ScriptedBright(greet_and_serve, [ACCOUNT]) as bright:
        connect_to(browser, bright, is_bound=False)
        browser.worker.wake("alarm")
        time.sleep(QUIET_SECONDS)  # what must not happen has this long to happen
        assert bright.connections == 0
        assert state(browser) == "unconfigured"
        ExtensionStorage(browser).set({"bindingToken": "token"})
        bright.wait_for("contact.profile.observed", lambda _: True, 60)


@pytest.mark.parametrize(
    ("scene", "words"),
    [("revoked", "was revoked."), ("unknown", "does not know this binding token")],
)
def test_a_revoked_binding_and_an_unknown_one_are_told_apart(
    browser: Browser, scene: str, words: str
) -> None:
    """OT-60: and the connection does not come back by itself."""
    keep_wanting(browser)
    with scripted(scene) as bright:
        connect_to(browser, bright)
        wait_until(lambda: state(browser) == "stopped", 40, "the stop", every=0.2)
        browser.worker.restart()
        with browser.extension_page("pages/popup.html") as popup:
            popup.wait_for(SAYS, words)
        time.sleep(QUIET_SECONDS)  # what must not happen has this long to happen
        assert bright.connections == 1


def test_a_changed_version_is_greeted_anew_and_not_in_a_rush(browser: Browser) -> None:
    """OT-60: the token holds, so it comes back; each time in vain it waits longer."""
    keep_wanting(browser)
    with scripted(*["version_changed"] * 4) as bright:
        connect_to(browser, bright)
        # It is online for a moment each time, before it is told.
        wait_until(
            lambda: bright.connections >= 5 and state(browser) == "online",
            40,
            "it is back",
            every=0.2,
        )
        assert bright.connections == 5
        assert worker_status(browser)["connection"]["stop"] is None
        told = bright.wait_for("contact.profile.observed", lambda _: True, 60)
        assert told.connection == 5


def test_an_authority_that_does_not_answer_is_named(browser: Browser) -> None:
    """OT-60: nothing is sent, it is said in words, and it goes on by itself."""
    keep_wanting(browser)
    with scripted(*["silent"] * 1_000) as bright:
        with browser.extension_page("pages/options.html") as options:
            options.wait_for("document.getElementById('save').textContent !== ''")
            options.fill("#server-url", bright.url)
            options.fill("#binding-token", "token")
            options.click("#save")
            options.wait_for(OUTCOME, "authorization service does not answer")
        connect_to(browser, bright)
        with browser.extension_page("pages/popup.html") as popup:
            popup.wait_for(SAYS, "authorization service does not answer")
        assert {each.kind for each in bright.heard()} == {"hello"}
        bright.script = greet_and_serve
        wait_until(lambda: state(browser) == "online", 40, "it goes on", every=0.2)


def test_a_displaced_connection_does_not_fight_and_says_so(rig: Rig) -> None:
    """OT-60, OT-62: another connection of this device has it; this one keeps away."""
    rig.configure(**SHORT)
    rig.open_page()
    wait_until(lambda: state(rig.browser) == "online", 40, "the connection", every=0.2)
    device = rig.storage.get()["deviceId"]
    hello = {
        "type": "hello",
        "requestId": "r",
        "protocolVersion": 1,
        "deviceId": device,
        "bootId": "another",
        "bindingToken": rig.binding.token,
        "extensionVersion": "1",
        "storeVersion": 10,
    }
    protocol = Subprotocol("bright.extension.v1")
    with connect(rig.server.url, subprotocols=[protocol]) as other:
        other.send(json.dumps(hello))
        assert json.loads(other.recv(60))["type"] == "welcome"
        wait_until(lambda: state(rig.browser) == "stopped", 40, "the stop", every=0.2)
        connections = rig.proxy.connections
        with rig.browser.extension_page("pages/popup.html") as popup:
            popup.wait_for(SAYS, "Another connection of this device")
        time.sleep(QUIET_SECONDS)
        assert rig.proxy.connections == connections
