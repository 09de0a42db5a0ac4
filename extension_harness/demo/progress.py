"""How far the extension is, read from its own store beside it."""

from __future__ import annotations

from dataclasses import dataclass

from extension_harness.oracle.verdict import DATABASE
from extension_harness.tab import Page

# Counts by index, never a whole store; an absent database is not created.
_COUNTS = """
async (name, account) => {
  const there = (await indexedDB.databases()).some((each) => each.name === name);
  if (!there) return null;
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const database = await done(indexedDB.open(name));
  try {
    const stores = ["onetalk_candidates", "onetalk_checkpoints", "onetalk_anomalies"];
    const reading = database.transaction(stores, "readonly");
    const status = reading.objectStore(stores[0]).index("by_account_status");
    const [confirmed, pending, checkpoints, anomalies] = await Promise.all([
      done(status.count([account, "confirmed"])),
      done(status.count([account, "pending_ack"])),
      done(reading.objectStore(stores[1]).index("by_account").getAll(account, 10000)),
      done(reading.objectStore(stores[2]).count()),
    ]);
    // A conversation without any valid message has nothing to be anchored at.
    const completed = checkpoints.filter(
      (each) =>
        each.phase === "completed" ||
        (each.historyComplete && each.result === "no_valid_messages"),
    ).length;
    const behind = checkpoints.filter((each) => each.isBehind === true).length;
    const started = checkpoints.length;
    return { confirmed, pending, anomalies, completed, behind, started };
  } finally {
    database.close();
  }
}
"""


@dataclass(frozen=True)
class Progress:
    """Counts of one moment."""

    confirmed: int = 0
    pending: int = 0
    anomalies: int = 0
    completed: int = 0
    behind: int = 0
    """Conversations whose history is to be walked once more, completed or not."""
    started: int = 0

    def __str__(self) -> str:
        return (
            f"{self.confirmed} messages confirmed, {self.pending} waiting, "
            f"{self.completed} of {self.started} conversations completed, "
            f"{self.behind} to be walked again"
        )


def read_progress(page: Page, account: str) -> Progress:
    """Read the counts through an extension page; all zero before the first write."""
    found = page.evaluate(_COUNTS, DATABASE, account, timeout=30)
    return Progress(**found) if found else Progress()
