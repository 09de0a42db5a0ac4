"""Trouble of the page: found, named to the user and to the operator, and got over.

P-numbers are those of docs/page-trouble.md. One rig serves all of it; a page counts as
troubled after 1.5 s here, and the worker looks around every 2 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.operators import ENVIRONMENT, command
from e2e.page_health import (
    POPUP,
    impatient,
    operator_pages,
    operator_troubles,
    wait_for_account,
    wait_for_troubles,
)
from e2e.proof import prove
from e2e.rigs import SHORT, running_rig, shorten_alarm
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.rig import Rig
from extension_harness.tab import Page
from extension_harness.waiting import wait_until

READY = "document.documentElement.dataset.ready === 'true'"
FREEZE = """seconds => void setTimeout(() => {
  const end = Date.now() + 1000 * seconds;
  while (Date.now() < end);
})"""


@dataclass
class Scene:
    """The rig, its one open tab, and the popup that somebody looks at."""

    rig: Rig
    tab: Page
    popup: Page

    def reload(self, *, whole: bool = True) -> None:
        """Reload the page, and wait for the other document; the whole of it or not.

        Whoever looks sooner may find the document before, and that all is well with it.
        """
        self.tab.evaluate("void (window.beforeTheReload = true)")
        self.tab.call("Page.reload")
        self.tab.wait_for(f"!window.beforeTheReload && ({READY if whole else 'true'})")

    def reopen(self) -> None:
        self.tab.close()
        self.tab = self.rig.browser.open(self.rig.page.url)

    def named(self, *troubles: str, seconds: float = 60) -> str:
        return wait_for_troubles(self.rig, self.popup, *troubles, seconds=seconds)

    def read_again(self) -> None:
        """Have a history read again, so that the page is asked for it."""
        chat = self.rig.page.corpus.conversations[0].conversation_id
        told = command(self.rig, "sync", f"--conversation={chat}")
        assert told.outcome == "done", told

    def all_is_well(self) -> None:
        """Nothing is wrong, new messages arrive, and nothing is lost or doubled."""
        self.named()
        self.rig.page.wait_for_page(1)
        self.rig.page.post_live(text="after the trouble")
        prove(self.rig)


@pytest.fixture(scope="module")
def shared(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    corpus = Corpus.generate(seed=151, conversations=4, messages=80)
    folder: Path = tmp_path_factory.mktemp("trouble")
    with running_rig(
        chromium,
        folder,
        corpus,
        extension=impatient(folder),
        environment=ENVIRONMENT,
        **SHORT,
        pageTimeoutMs=4_000,
        idleGraceMs=600_000,
    ) as rig:
        tab = rig.open_page()
        prove(rig)
        shorten_alarm(rig)
        with rig.browser.extension_page(POPUP) as popup:
            yield Scene(rig, tab, popup)


@pytest.fixture
def scene(shared: Scene) -> Iterator[Scene]:
    yield shared
    shared.rig.page.switches.reset()


@contextmanager
def silence_of(rig: Rig, account: str) -> Iterator[None]:
    """Assert that meanwhile no frame names this account."""
    before = len(rig.proxy.seen())
    yield
    told = [str(each.body) for each in rig.proxy.seen()[before:]]
    assert not [each for each in told if account in each]


def test_p1_an_expired_login_is_named_and_ends_with_a_new_one(scene: Scene) -> None:
    """P1, OT-60: a page that wants a login is asked once a look, not once a history."""
    scene.rig.page.switches.set(login="redirect")
    scene.read_again()
    assert scene.named("login_lost") == "Login expired: log in again in this page."
    scene.rig.page.switches.set(login="valid")
    scene.named()


def test_p2_a_captcha_is_named_and_not_asked_against(scene: Scene) -> None:
    """P2: while it stands no history is asked for; with it solved all goes on."""
    scene.rig.page.switches.set(captcha=True)
    scene.read_again()
    assert "whether a person is there" in scene.named("captcha")
    scene.rig.page.switches.set(captcha=False)
    scene.named()


def test_p3_a_banner_without_height_is_a_false_alarm_and_a_shown_one_is_not(
    scene: Scene,
) -> None:
    """P3: the same words, shown or not."""
    scene.rig.page.switches.set(banner="false_alarm")
    scene.tab.wait_for("!document.querySelector('[role=status]').hidden")
    scene.named()
    scene.rig.page.switches.set(banner="disconnected")
    assert "disconnected" in scene.named("disconnected")
    scene.rig.page.switches.set(banner="none")
    scene.named()


def test_p3_a_dead_page_is_named_and_a_new_tab_finds_what_it_missed(
    scene: Scene,
) -> None:
    """P3: a reload does not help a zombie; its tab, closed and opened again, does."""
    scene.rig.page.switches.set(zombie=True)
    assert "close its tab and open it again" in scene.named("page_dead")
    scene.rig.page.post_live(text="told to the dead")
    scene.tab.close()
    scene.popup.wait_for("document.getElementById('pages-none').checkVisibility()")
    wait_until(lambda: operator_troubles(scene.rig) == [], 40, "no page", every=0.3)
    scene.rig.page.switches.set(zombie=False)
    scene.tab = scene.rig.browser.open(scene.rig.page.url)
    scene.all_is_well()


def test_p3_a_page_that_does_not_answer_is_named_until_it_does(scene: Scene) -> None:
    """P3: a frozen renderer says nothing by itself; being asked in vain tells it."""
    scene.tab.evaluate(FREEZE, 25)
    assert "does not answer" in scene.named("page_silent")
    scene.named()


def test_p4_a_page_that_loads_for_ever_is_named_and_a_reload_ends_it(
    scene: Scene,
) -> None:
    """P4: it does not even say whose it is, so it is shown without an account."""
    scene.rig.page.switches.set(loading=True)
    scene.reload(whole=False)
    assert "finish loading" in scene.named(
        "still_loading", "account_unknown", "sdk_missing"
    )
    assert [page["channelAccountId"] for page in operator_pages(scene.rig)] == [None]
    scene.rig.page.switches.set(loading=False)
    scene.reload()
    scene.named()


def test_p5_p10_p11_what_the_page_only_shows_changes_nothing(scene: Scene) -> None:
    """P5, P10, P11: hidden stale rows, a list without height, translations, an overlay
    and a left search word are no trouble, and no message is missed or changed."""
    scene.tab.evaluate(
        """(() => {
          const canvas = document.querySelector(".conversation-canvas");
          const stale = canvas.firstElementChild.cloneNode(true);
          stale.style.display = "none";
          for (let n = 0; n < 23; n += 1) canvas.append(stale.cloneNode(true));
          canvas.parentElement.style.height = "0";
          for (const line of document.querySelectorAll(".latest-msg"))
            line.textContent = "translated preview";
          const search = document.querySelector(".search-input");
          search.value = "nobody of this name";
          search.dispatchEvent(new Event("input"));
          const overlay = document.createElement("div");
          overlay.style = "position:fixed;inset:0;z-index:9999;background:#fff8";
          document.body.append(overlay);
        })()"""
    )
    for n in range(5):
        scene.rig.page.post_live(text=f"behind the overlay {n}")
    scene.read_again()
    prove(scene.rig)
    # On a busy machine the page may have been late for a moment.
    wait_until(
        lambda: operator_troubles(scene.rig) == [set()], 40, "no trouble", every=0.3
    )
    scene.reload()
    scene.named()


def test_p6_rows_of_the_conversation_before_stay_out_of_the_new_one(
    scene: Scene,
) -> None:
    """P6, OT-02: the header changes first; every row counts by the id that it names."""
    scene.tab.wait_for(
        "document.querySelectorAll('.contact-item-container').length > 2"
    )
    scene.rig.page.switches.set(delay_ms=700)
    for _ in range(2):
        for number in (0, 1, 2):
            scene.tab.evaluate(
                "n => document.querySelectorAll('.contact-item-container')[n].click()",
                number,
            )
            scene.rig.page.post_live(
                scene.rig.page.corpus.conversations[number].conversation_id
            )
    scene.rig.page.switches.set(delay_ms=0)
    prove(scene.rig)
    scene.all_is_well()


def test_p7_without_its_sdk_a_page_is_named_and_read_another_way(
    scene: Scene,
) -> None:
    """P7: absent, then late: what came meanwhile is there, and the rest follows."""
    scene.rig.page.switches.set(sdk=False, emitter=False)
    scene.reload(whole=False)
    assert "messaging SDK" in scene.named("sdk_missing")
    scene.rig.page.post_live(text="without an SDK")
    scene.read_again()
    scene.rig.page.switches.set(sdk=True, emitter=True)
    scene.tab.evaluate("__simulator__.buildSdk(), __simulator__.buildEmitter()")
    scene.all_is_well()


def test_p7_a_history_call_that_never_comes_back_is_named_and_gone_round(
    scene: Scene,
) -> None:
    """P7, OT-44: the next surface is asked; when the first answers again it is well."""
    scene.rig.page.switches.set(sdk_silent=True)
    scene.read_again()
    assert "another one is used" in scene.named("history_silent")
    scene.rig.page.post_live(text="read another way")
    scene.rig.page.switches.set(sdk_silent=False)
    scene.reload()
    scene.all_is_well()


def test_p8_an_account_switch_in_one_tab_crosses_nothing(scene: Scene) -> None:
    """P8, OT-60, OT-63: the other account is shown as out of scope, and not told of."""
    other = "2500000000999"
    with silence_of(scene.rig, other):
        scene.rig.page.switches.set(account=other)
        shown = wait_for_account(scene.popup, other)
        assert shown["mood"] == "bad"
        assert "does not hold this account" in shown["words"]
        scene.popup.wait_for(
            "part => document.getElementById('last-error-text')"
            ".textContent.includes(part)",
            other,
        )
        scene.rig.page.switches.set(account="")
        scene.all_is_well()


def test_p15_a_busy_page_is_named_and_asked_again_later(scene: Scene) -> None:
    """P15: 429 is no loss of a history."""
    scene.rig.page.switches.set(http_status=429)
    scene.read_again()
    assert "busy" in scene.named("page_busy")
    scene.rig.page.switches.set(http_status=200)
    scene.named()


def test_a_page_that_comes_back_from_the_cache_is_taken_up_again(scene: Scene) -> None:
    """Back and forward: a page that was put away and comes back greets anew.

    The browser need not keep one (a message may just have been under way): then it is
    one that was opened anew, and it is tried again.
    """
    wait_until(lambda: _comes_back_as_it_was(scene), 120, "a page out of the cache")
    scene.all_is_well()


def _comes_back_as_it_was(scene: Scene) -> bool:
    scene.tab.evaluate("void (window.wasPutAway = true)")
    scene.tab.goto("about:blank")
    scene.popup.wait_for("document.getElementById('pages-none').checkVisibility()")
    scene.rig.page.post_live(text="while it was away")
    scene.tab.call("Page.navigateToHistoryEntry", entryId=_entry_before(scene.tab))
    scene.tab.wait_for(READY)
    return bool(scene.tab.evaluate("window.wasPutAway === true"))


def _entry_before(tab: Page) -> int:
    history = tab.call("Page.getNavigationHistory")
    return int(history["entries"][history["currentIndex"] - 1]["id"])


def test_p7_a_tab_under_an_updated_extension_is_named_until_it_is_reloaded(
    scene: Scene,
) -> None:
    """P7: last here. The orphan cannot speak; the new worker finds nobody listening."""
    scene.popup.close()
    scene.rig.browser.reload_extension()
    with scene.rig.browser.extension_page(POPUP) as popup:
        scene.popup = popup
        assert "updated under this tab" in scene.named("needs_reload", seconds=90)
        scene.rig.page.post_live(text="to an orphan")
        scene.reload()
        scene.all_is_well()
