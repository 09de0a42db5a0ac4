"""The rig's wiring: everything a sync test starts from is really connected."""

from extension_harness.rig import Rig


def test_a_small_corpus_is_synced_through_all_real_parts(rig: Rig) -> None:
    """OT-30, OT-50: observed, written, sent, acknowledged, anchored; then compared."""
    with rig.open_page():
        rig.wait_until_complete(90)
    rig.check_agreement()
    assert rig.proxy.seen("observation.ack")
    assert rig.server.dump().of("anchor")
