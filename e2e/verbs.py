"""The extension's own store, used from one of its pages: the verbs that ship, called.

The page is under the tripwire when its extension is. Beside the worker it has a
connection of its own, through the same module.
"""

from __future__ import annotations

from typing import Any

from extension_harness.storage import ExtensionStorage
from extension_harness.tab import Page

LOAD = """
(async () => {
  await import("/instrument.js").catch(() => {}); // only a copy has it
  const names = ["checkpoints", "observations", "deliveries", "cards", "profiles",
    "buyer-facts", "ledger-reoffers", "rebuild"];
  const modules = await Promise.all(names.map((name) => import(`/store/${name}.js`)));
  const { Database } = await import("/store/database.js");
  globalThis.told = [];
  globalThis.verbs = Object.assign({}, ...modules);
  globalThis.store = new Database(indexedDB, (event) => {
    told.push([event.kind, event.why ?? event.error?.code ?? null]);
  });
})()
"""
CALL = """
async (name, given) => {
  try {
    return { value: (await verbs[name](store, ...given)) ?? null };
  } catch (error) {
    return { refused: error.code ?? error.name, words: error.message };
  }
}
"""


class StoreError(Exception):
    """A verb refused; its stable code is the first argument."""

    @property
    def code(self) -> str:
        return str(self.args[0])


class StoreVerbs:
    """Calls of the store's verbs in a page of the extension."""

    def __init__(self, page: Page, storage: ExtensionStorage) -> None:
        self.page = page
        self._storage = storage
        page.evaluate(LOAD)

    def __call__(self, name: str, *given: object) -> Any:  # noqa: ANN401 - JSON
        """What the verb gave; undefined is None. Raises StoreError."""
        answer = self.page.evaluate(CALL, name, list(given), timeout=60)
        if "refused" in answer:
            raise StoreError(answer["refused"], answer["words"])
        return answer["value"]

    def records(self, store: str, account: str) -> list[dict[str, Any]]:
        """An account's records, as they are on disk, in key order."""
        dump = self._storage.dump("trade-message-center")
        return [
            row for row in dump.records(store) if row["channelAccountId"] == account
        ]
