"""Other channels' stores in the same database: no upgrade of ours may touch them."""

from __future__ import annotations

from extension_harness.storage import Index, ObjectStore, Record

WHATSAPP = ObjectStore(
    "whatsapp_messages",
    "id",
    indexes=(
        Index("by_account", "account"),
        Index("by_serial", "serial", unique=True),
        Index("by_tag", "tags", multi_entry=True),
    ),
    records=(
        Record(
            {"$date": 1_700_000_000_000},
            {
                "id": {"$date": 1_700_000_000_000},
                "account": "2500000000001",
                "serial": 1,
                "tags": ["a", "b", "a"],
                "media": {"$bytes": "00ff10", "$view": "Uint8Array"},
            },
        ),
        Record(
            "w-2",
            {
                "id": "w-2",
                "account": None,
                "serial": {"$number": "Infinity"},
                "tags": [],
                "labels": {"$map": [["x", {"$undefined": True}], [1, [{"$date": 5}]]]},
                "zero": {"$number": "-0"},
            },
        ),
        Record(
            {"$bytes": "0102"},
            {"id": {"$bytes": "0102"}, "serial": 2.5, "big": {"$bigint": "-9"}},
        ),
    ),
)
MAIL = ObjectStore(
    "mail_threads",
    ("box", "uid"),
    indexes=(Index("by_date", "head.date"),),
    records=(
        Record(
            ["inbox", 1],
            {
                "box": "inbox",
                "uid": 1,
                "head": {"date": {"$date": 0}, "flags": {"$set": ["seen"]}},
                "parts": {"$array": 3, "$own": [["1", "only this"]]},
            },
        ),
        Record(
            ["inbox", 2],
            {
                "$object": [
                    ["box", "inbox"],
                    ["uid", 2],
                    ["$match", {"$regexp": "a+", "$flags": "i"}],
                ]
            },
        ),
    ),
)
DRAFTS = ObjectStore(
    "drafts",
    None,
    auto_increment=True,
    records=(Record(3, "a draft"), Record(9, None), Record("named", {"x": [[]]})),
)

OTHERS = (DRAFTS, MAIL, WHATSAPP)
