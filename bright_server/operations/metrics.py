"""What the server counts, as Prometheus text: `bright_` names, base units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bright_server.commit.group_committer import GroupReport
from bright_server.commit.groups import (
    BatchCommitted,
    CardsStored,
    FactsStored,
    NotStored,
    Outcome,
    ProfilesStored,
)
from bright_server.commit.recovery import RecoveryReport

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)
_MESSAGES = (1, 10, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)


class Metrics:
    """The server's metrics, in a registry of their own.

    A `CommitWatch`, a `RecoveryWatch`, an `AuthorityWatch` and `CommandCounts`.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._messages = self._counter(
            "bright_messages",
            "Messages that a group commit has settled, by outcome",
            "outcome",
        )
        self._entries = self._counter(
            "bright_ledger_entries",
            "Profiles, cards and buyer facts that a group commit has changed or met",
            *("ledger", "outcome"),
        )
        self._not_stored = self._counter(
            "bright_work_not_stored",
            "Requests of connections that could not be stored then",
        )
        self._seconds = self._histogram(
            "bright_group_commit_seconds",
            "From taking a group to its being on disk",
            _SECONDS,
        )
        self._recovered = self._counter(
            "bright_recovered_commits",
            "Commits that recovery has finished in their sender's place",
        )
        self._passes = self._counter(
            "bright_recovery_passes",
            "Looks for commits that were left: made, left to another server, or failed",
            "outcome",
        )
        self._authority = self._histogram(
            "bright_authority_question_seconds",
            "From asking the authorization service to its answer, or to giving up",
            _SECONDS,
            "question",
        )
        self._authority_faults = self._counter(
            "bright_authority_faults",
            "Questions that the authorization service did not answer, by why",
            "fault",
        )
        self._commands = self._counter(
            "bright_commands",
            "Commands to pages that were settled, by outcome",
            *("name", "outcome"),
        )
        self._ignored = self._counter(
            "bright_command_results_ignored",
            "Results that nobody waited for: late, doubled or of another connection",
        )
        self._size = self._histogram(
            "bright_group_messages", "Messages in one group commit", _MESSAGES
        )

    def watch(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """Show a value that is read when the metrics are."""
        Gauge(name, help_text, registry=self.registry).set_function(read)

    def watch_each(
        self,
        name: str,
        help_text: str,
        label: str,
        read: Callable[[], Mapping[str, int]],
    ) -> None:
        """Show a value for each word of a label; all are read when the metrics are."""
        self.registry.register(_Watched(name, help_text, label, read))

    def authority_asked(self, question: str, fault: str | None, seconds: float) -> None:
        """See `AuthorityWatch.authority_asked`."""
        self._authority.labels(question).observe(seconds)
        if fault is not None:
            self._authority_faults.labels(fault).inc()

    def command_settled(self, name: str, outcome: str) -> None:
        """See `CommandCounts.command_settled`."""
        self._commands.labels(name, outcome).inc()

    def result_ignored(self) -> None:
        """See `CommandCounts.result_ignored`."""
        self._ignored.inc()

    def group_committed(self, report: GroupReport) -> None:
        """See `CommitWatch.group_committed`."""
        self._seconds.observe(report.seconds)
        self._size.observe(report.messages)
        for outcome in report.outcomes:
            if isinstance(outcome, BatchCommitted):
                self._messages.labels("committed").inc(outcome.new)
                self._messages.labels("duplicate").inc(len(outcome.repeats))
                self._messages.labels("conflict").inc(len(outcome.conflicts))
            elif isinstance(outcome, NotStored):
                self._not_stored.inc()
            else:
                for ledger, what, entries in _entries_of(outcome):
                    self._entries.labels(ledger, what).inc(entries)

    def pass_ended(self, report: RecoveryReport) -> None:
        """See `RecoveryWatch.pass_ended`."""
        self._recovered.inc(report.recovered)
        if report.failure is not None:
            outcome = "failed"
        else:
            outcome = "made" if report.held_lease else "elsewhere"
        self._passes.labels(outcome).inc()

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(name, help_text, labels, registry=self.registry)

    def _histogram(
        self, name: str, help_text: str, buckets: Sequence[float], *labels: str
    ) -> Histogram:
        return Histogram(
            name, help_text, labels, buckets=buckets, registry=self.registry
        )


class _Watched(Collector):
    """A gauge with one label, read anew each time."""

    def __init__(
        self,
        name: str,
        help_text: str,
        label: str,
        read: Callable[[], Mapping[str, int]],
    ) -> None:
        self._about = (name, help_text, label)
        self._read = read

    def collect(self) -> Iterator[GaugeMetricFamily]:
        name, help_text, label = self._about
        family = GaugeMetricFamily(name, help_text, labels=[label])
        for word, value in self._read().items():
            family.add_metric([word], value)
        yield family


def _entries_of(outcome: Outcome) -> Iterator[tuple[str, str, int]]:
    if isinstance(outcome, ProfilesStored):
        yield "profile", "committed", len(outcome.taken)
    elif isinstance(outcome, FactsStored):
        yield "facts", "committed", int(outcome.taken)
    elif isinstance(outcome, CardsStored):
        repeats, conflicts = len(outcome.repeats), len(outcome.conflicts)
        yield "card", "committed", outcome.size - repeats - conflicts
        yield "card", "duplicate", repeats
        yield "card", "conflict", conflicts


def route(metrics: Metrics) -> Route:
    """Return `GET /metrics`."""

    async def endpoint(_: Request) -> Response:
        return Response(
            generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST
        )

    return Route("/metrics", endpoint)
