"""Invented words, names and places from which the corpus is written."""

from __future__ import annotations

import random

FIRST_NAMES = (
    "Amina",
    "Lucas",
    "Noor",
    "Pavel",
    "Ines",
    "Tomas",
    "Li",
    "Yara",
    "Kofi",
    "Elena",
    "Marco",
    "Hana",
    "Omar",
    "Greta",
    "Ravi",
    "Sofia",
    "Jonas",
    "Aylin",
    "Diego",
    "Mei",
    "Karim",
    "Julia",
    "Andre",
    "Nadia",
    "Piotr",
    "Lea",
    "Hugo",
    "Zeynep",
)
LAST_NAMES = (
    "Berg",
    "Novak",
    "Silva",
    "Okafor",
    "Haddad",
    "Wen",
    "Costa",
    "Ivanov",
    "Sato",
    "Rossi",
    "Kaya",
    "Moreau",
    "Lind",
    "Ortiz",
    "Patel",
    "Weber",
    "Dumas",
    "Farah",
    "Klein",
    "Santos",
    "Demir",
    "Virtanen",
    "Mbeki",
    "Horvat",
)
COMPANIES = (
    "Northwind Fixtures",
    "Blue Kite Trading",
    "Harbour & Sons",
    "Casa Verde Import",
    "Lumen Parts",
    "Tamarind Tools",
    "Old Mill Supply",
    "Atlas Garden",
)
JUNK_COMPANIES = (
    "NA",
    "none",
    "nocompany",
    "No company name",
    "All companies",
    "Pas d&#39;entreprise",
)
COUNTRIES = ("DE", "BR", "TR", "FR", "NG", "US", "PL", "AE", "ES", "IN", "MX", "SE")
OPENINGS = ("Hello", "Hi", "Good morning", "Dear friend", "Thanks", "Well", "OK so")
TOPICS = (
    "the sample arrived and the finish is fine",
    "could you quote 500 pieces with our logo",
    "we need the certificate before Friday",
    "the carton size changed, please check the attached list",
    "what is the lead time for the second colour",
    "the forwarder asks for the packing list",
    "payment is on its way, the bank says two days",
    "two units were scratched, photos follow",
    "can the handle be 12 mm instead of 10 mm",
    "is the price FOB or CIF",
    "our customer wants a darker green",
    "please hold the goods until Monday",
)
CLOSINGS = ("", "", " Regards.", " Let me know.", " Thank you!", " Any news?")
FILE_NAMES = ("packing list", "artwork v3", "invoice", "test report", "drawing A4")
SYSTEM_NOTICES = (
    "The translation service was renewed; earlier messages keep their wording.",
    "This order is protected. Keep the conversation on the platform.",
    "Please select an address for this order.",
)


def sentence(rng: random.Random) -> str:
    """Return one plausible line of a trade conversation."""
    return (
        f"{rng.choice(OPENINGS)}, {rng.choice(TOPICS)}"
        f"{rng.choice((' ', ' really ', ''))}".rstrip()
        + f" #{rng.randrange(10_000)}.{rng.choice(CLOSINGS)}"
    )


def person(rng: random.Random) -> str:
    """Return a first and a last name."""
    return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"


def opaque(rng: random.Random, length: int, prefix: str = "") -> str:
    """Return an opaque url-safe string, the shape of the page's encrypted ids."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
    return prefix + "".join(rng.choices(letters, k=length))
