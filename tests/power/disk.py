"""A disk whose power can be cut: what is written, and what of it would be left. No I/O.

Contents are kept once, as the machine sees them; of everything that changed since it
was last made durable there is an image from before. Power loss puts the images back. A
page of a file is durable after an fsync of the file, a directory's entry after an fsync
of the directory (`strict`), or at once. Modes and owners are durable at once.

An fsync that fails is as bad as Linux's is: what it should have written counts as clean
from then on and is never written, unless the program writes it again.
"""

from __future__ import annotations

import errno
import random
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

PAGE: Final = 4096


@dataclass(slots=True)
class Meta:
    """What `stat` tells of a node beside its size."""

    mode: int
    uid: int
    gid: int
    number: int
    modified_ns: int = field(default_factory=time.time_ns)


@dataclass(slots=True)
class File:
    """Contents, and an image of each page that is not on the disk as it stands."""

    meta: Meta
    data: bytearray = field(default_factory=bytearray)
    before: dict[int, bytes] = field(default_factory=dict)
    forsaken: dict[int, bytes] = field(default_factory=dict)
    durable_size: int = 0

    def write(self, offset: int, content: bytes) -> None:
        """Change contents; zeros fill what lies between the end and `offset`."""
        end = offset + len(content)
        self._keep(min(offset, len(self.data)), end)
        if offset > len(self.data):
            self.data.extend(bytes(offset - len(self.data)))
        self.data[offset:end] = content
        self.meta.modified_ns = time.time_ns()

    def resize(self, size: int) -> None:
        """Cut the contents off, or fill up with zeros."""
        self._keep(min(size, len(self.data)), max(size, len(self.data)))
        if size < len(self.data):
            del self.data[size:]
        else:
            self.data.extend(bytes(size - len(self.data)))
        self.meta.modified_ns = time.time_ns()

    def sync(self) -> None:
        """Make everything durable, but what an earlier sync has forsaken."""
        self.before.clear()
        self.durable_size = len(self.data)

    def sync_failed(self) -> None:
        """Forget that there was something to write, as Linux does after an error."""
        for page, image in self.before.items():
            self.forsaken.setdefault(page, image)
        self.before.clear()

    def lose_power(self, survives: random.Random, chance: float) -> int:
        """Return how many pages were lost; each of the unsynced survives by chance."""
        images = {**self.before, **self.forsaken}
        kept = {page for page in images if chance and survives.random() < chance}
        size = self.durable_size
        if len(self.data) > size and kept:
            size = min(len(self.data), max(size, (max(kept) + 1) * PAGE))
        self.data.extend(bytes(max(0, self.durable_size - len(self.data))))
        for page, image in images.items():
            if page not in kept:
                place = slice(page * PAGE, (page + 1) * PAGE)
                self.data[place] = image.ljust(len(self.data[place]), b"\0")
        del self.data[size:]
        self.before.clear()
        self.forsaken.clear()
        self.durable_size = size
        return len(images) - len(kept)

    def _keep(self, start: int, end: int) -> None:
        for page in range(start // PAGE, -(-end // PAGE)):
            if page not in self.before:
                image = self.forsaken.pop(page, None)
                if image is None:
                    image = bytes(self.data[page * PAGE : (page + 1) * PAGE])
                self.before[page] = image


@dataclass(slots=True)
class Link:
    """A symbolic link; durable at once."""

    meta: Meta
    target: str


@dataclass(slots=True)
class Folder:
    """Entries, and of each that changed since the last sync what stood there before."""

    meta: Meta
    entries: dict[str, Node] = field(default_factory=dict)
    before: dict[str, Node | None] = field(default_factory=dict)

    def put(self, name: str, node: Node | None) -> None:
        """Set an entry; None removes it."""
        self.before.setdefault(name, self.entries.get(name))
        if node is None:
            del self.entries[name]
        else:
            self.entries[name] = node

    def sync(self) -> None:
        """Make the entries durable."""
        self.before.clear()

    def lose_power(self, survives: random.Random, chance: float) -> int:
        """Return how many changes of entries were lost."""
        lost = 0
        for name, node in self.before.items():
            if chance and survives.random() < chance:
                continue
            lost += 1
            self.entries.pop(name, None)
            if node is not None:
                self.entries[name] = node
        self.before.clear()
        return lost


Node: TypeAlias = File | Folder | Link


@dataclass(frozen=True, slots=True)
class Loss:
    """What a power cut took."""

    pages: int
    entries: int


class Disk:
    """A tree of nodes, by path. Raises OSError as a kernel would.

    Of a `strict` disk a directory's entries last only after an fsync of the directory;
    `capacity` bounds the contents of all files, in bytes.
    """

    def __init__(self, *, strict: bool = True) -> None:
        self.strict = strict
        self.capacity: int | None = None
        self._numbers = 1
        self.root = Folder(Meta(stat.S_IFDIR | 0o777, 0, 0, 1))

    def make_meta(self, mode: int, uid: int, gid: int) -> Meta:
        """Return what a new node begins with."""
        self._numbers += 1
        return Meta(mode, uid, gid, self._numbers)

    def find(self, path: str) -> Node:
        """Return the node at a path; of a link, the link."""
        node: Node = self.root
        for name in filter(None, path.split("/")):
            if not isinstance(node, Folder):
                raise OSError(errno.ENOTDIR, path)
            if name not in node.entries:
                raise OSError(errno.ENOENT, path)
            node = node.entries[name]
        return node

    def folder_of(self, path: str) -> tuple[Folder, str]:
        """Return the folder in which a path's last name stands, and the name."""
        parent, _, name = path.rpartition("/")
        folder = self.find(parent)
        if not isinstance(folder, Folder):
            raise OSError(errno.ENOTDIR, path)
        return folder, name

    def put(self, path: str, node: Node) -> None:
        """Give a node its place; what stood there is gone."""
        folder, name = self.folder_of(path)
        folder.put(name, node)
        self._settle(folder)

    def remove(self, path: str) -> None:
        """Take an entry away; a folder must be empty."""
        folder, name = self.folder_of(path)
        node = self.find(path)
        if isinstance(node, Folder) and node.entries:
            raise OSError(errno.ENOTEMPTY, path)
        folder.put(name, None)
        self._settle(folder)

    def rename(self, old: str, new: str) -> None:
        """Move an entry; a file that stood at `new` is gone in the same moment."""
        node = self.find(old)
        folder, name = self.folder_of(new)
        there = folder.entries.get(name)
        if isinstance(there, Folder) and there.entries:
            raise OSError(errno.ENOTEMPTY, new)
        source, old_name = self.folder_of(old)
        source.put(old_name, None)
        folder.put(name, node)
        self._settle(source)
        self._settle(folder)

    def make_room(self, more: int) -> None:
        """Refuse `more` bytes when the disk would be too full."""
        if (
            self.capacity is not None
            and more > 0
            and self.used() + more > self.capacity
        ):
            raise OSError(errno.ENOSPC, "the disk is full")

    def used(self) -> int:
        """Return the size of all files together."""
        return sum(len(n.data) for n in self._nodes() if isinstance(n, File))

    def sync(self) -> None:
        """Make all that there is durable."""
        for node in self._nodes():
            if not isinstance(node, Link):
                node.sync()

    def lose_power(self, chance: float = 0, seed: int = 0) -> Loss:
        """Drop what is not durable; each page and entry survives with this chance."""
        survives = random.Random(seed)  # noqa: S311 - no secret
        entries = pages = 0
        # From the root on: what a lost entry led to is not walked any more, and what
        # a lost removal brings back is.
        waiting: list[Node] = [self.root]
        seen: set[int] = set()
        while waiting:
            node = waiting.pop()
            if node.meta.number in seen:
                continue
            seen.add(node.meta.number)
            if isinstance(node, Folder):
                entries += node.lose_power(survives, chance)
                waiting.extend(node.entries.values())
            elif isinstance(node, File):
                pages += node.lose_power(survives, chance)
        return Loss(pages, entries)

    def _settle(self, folder: Folder) -> None:
        if not self.strict:
            folder.sync()

    def _nodes(self) -> Iterator[Node]:
        waiting: list[Node] = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            if isinstance(node, Folder):
                waiting.extend(node.entries.values())
