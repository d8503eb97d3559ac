"""Links and configurations: where an acceptor stands, and what it goes back to afterwards.

A *link* is a continuation: a place in a network, with the link to go back to when that network is
done. A *configuration* is a lexeme state with the link that is told when the lexeme ends. Both are
interned, so that equal ones are the same object, and a state of the acceptor is a tuple of
configurations that read the same text side by side.

Links form a graph-structured stack: configurations in the same lexeme state are joined, and the
parents of equal places are joined, so that alternatives which stay alive don't multiply with depth.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from enum import Enum
from typing import NamedTuple, Protocol, TypeAlias

from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.errors import LimitExceededError
from mlx_structured.limits import charge


class Unknown(Enum):
    """A text whose end lies inside a token, in a mask that is shared by all texts."""

    TEXT = "unknown"


Captured: TypeAlias = "bytes | Unknown | None"


class Recording(NamedTuple):
    """What was read since the outermost place that captures a text began.

    Arguments:
        text: all of it.
        starts: where the text of each such place begins, the outermost first.
    """

    text: bytes
    starts: tuple[int, ...]


class Network(Protocol):
    """What orders lexemes: an object, an array, the document."""

    def follow(
        self, link: Link, state: Hashable, label: Hashable, captured: Captured
    ) -> Iterable[Configuration]:
        """What may come after the lexeme that ``link`` in ``state`` waits for.

        Arguments:
            link: the place in this network.
            state: the state of this network.
            label: as what the lexeme ended.
            captured: what was read since this place began (a key, or a whole item), if the state
                captures it.
        """
        ...

    def responsible(self, state: Hashable, lexeme: LexemeState) -> tuple[str, str]:
        """The keyword that asks for the work if reading the lexeme there takes too much of it.

        Returns:
            Keyword and pointer; two empty strings if there is none to name.
        """
        ...

    def captures(self, state: Hashable) -> bool:
        """Whether what follows depends on the text read at this place, maybe many lexemes."""
        ...

    def is_final(self, state: Hashable) -> bool:
        """Whether the document may end when the lexeme does."""
        ...

    def is_uncertain(self, state: Hashable) -> bool:
        """Whether an unknown text took part in the state, so that tokens need a check each."""
        ...


class Link:
    """A place in a network and the link to go back to."""

    __slots__ = (
        "_after",
        "_children",
        "_configurations",
        "captures",
        "depth",
        "is_final",
        "is_uncertain",
        "joined",
        "network",
        "parent",
        "recorders",
        "state",
    )

    def __init__(self, network: Network, state: Hashable, parent: Link | None) -> None:
        self.network = network
        self.state = state
        self.parent = parent
        self.depth: int = -1 if parent is None else parent.depth + 1
        self.captures = network.captures(state)
        above = () if parent is None else parent.recorders
        self.recorders: tuple[int, ...] = (*above, self.depth) if self.captures else above
        self.is_final = network.is_final(state)
        self.is_uncertain = network.is_uncertain(state)
        self.joined: dict[frozenset[Link], JoinedLink] = {} if parent is None else parent.joined
        self._after: dict[tuple[Hashable, Captured], tuple[Configuration, ...]] = {}
        self._children: dict[tuple[Network, Hashable], Link] = {}
        self._configurations: dict[LexemeState | tuple[LexemeState, Recording], Configuration] = {}

    def child(self, network: Network, state: Hashable) -> Link:
        """The link at a place in a network that goes back to this link."""
        key = (network, state)
        link = self._children.get(key)
        if link is None:
            charge(1, 1_000)
            link = self._children[key] = Link(network, state, self)
        return link

    def sibling(self, state: Hashable) -> Link:
        """The link at another state of the same network."""
        if self.parent is None:
            raise AssertionError("the document has no sibling")
        return self.parent.child(self.network, state)

    def configuration(
        self, lexeme: LexemeState, recording: Recording | None = None
    ) -> Configuration:
        """The configuration in which ``lexeme`` is read for this link."""
        key = lexeme if recording is None else (lexeme, recording)
        configuration = self._configurations.get(key)
        if configuration is None:
            configuration = self._configurations[key] = Configuration(lexeme, self, recording)
        return configuration

    def continued(self, recording: Recording | None) -> Recording | None:
        """The recording as it goes on from another place to this one."""
        if not self.recorders:
            return None
        text, starts = recording or Recording(b"", ())
        new = max(len(self.recorders) - len(starts), 0)
        return Recording(text, starts[: len(self.recorders)] + (len(text),) * new)

    def captured(self, recording: Recording | None) -> bytes | None:
        """The text that this place captures, of what was recorded."""
        if recording is None or not self.captures:
            return None
        return recording.text[recording.starts[-1] :]

    def after(self, label: Hashable, captured: Captured) -> tuple[Configuration, ...]:
        """What may come after the lexeme that this link waits for.

        Raises:
            LimitExceededError: if that takes too much work to find out.
        """
        if isinstance(captured, bytes):
            return self._joined(label, captured)
        key = (label, captured)
        configurations = self._after.get(key)
        if configurations is None:
            charge(1, 300)
            configurations = self._after[key] = self._joined(label, captured)
        return configurations

    def _joined(self, label: Hashable, captured: Captured) -> tuple[Configuration, ...]:
        try:
            return join(self._follow(label, captured))
        except RecursionError as error:
            raise LimitExceededError(
                "is nested too deeply, or so is a value to compare with others", "nesting"
            ) from error

    def _follow(self, label: Hashable, captured: Captured) -> Iterable[Configuration]:
        return self.network.follow(self, self.state, label, captured)


def release(link: Link) -> None:
    """Let all links of a document go that nobody stands on, whose tables refer to one another.

    They are caches: a link that is still in use fills them again.
    """
    while link.parent is not None:
        link = link.parent
    links = [link, *link.joined.values()]
    link.joined.clear()
    while links:
        each = links.pop()
        links += each._children.values()
        each._children.clear()
        each._configurations.clear()
        each._after.clear()


class JoinedLink(Link):
    """Several links that wait for the same lexeme."""

    __slots__ = ("links",)

    def __init__(self, links: frozenset[Link]) -> None:
        first = next(iter(links))
        super().__init__(first.network, first.state, first.parent)
        self.links = links
        self.depth = first.depth
        self.captures = first.captures
        self.recorders = first.recorders
        self.is_final = any(link.is_final for link in links)
        self.is_uncertain = any(link.is_uncertain for link in links)

    def _follow(self, label: Hashable, captured: Captured) -> Iterable[Configuration]:
        for link in sorted(self.links, key=id):
            yield from link.after(label, captured)


class Configuration:
    """A lexeme state with the link that is told when the lexeme ends.

    ``recording`` is what was read so far where the link or one above it captures a text, otherwise
    ``None``.
    """

    __slots__ = ("lexeme", "link", "recording")

    def __init__(self, lexeme: LexemeState, link: Link, recording: Recording | None) -> None:
        self.lexeme = lexeme
        self.link = link
        self.recording = recording

    def captured(self) -> bytes | None:
        """The text that the link captures, so far."""
        return self.link.captured(self.recording)


def join(configurations: Iterable[Configuration]) -> tuple[Configuration, ...]:
    """The same configurations, with one for each lexeme state."""
    distinct = tuple(dict.fromkeys(configurations))
    if len(distinct) < 2:
        return distinct
    groups: dict[tuple[LexemeState, Recording | None, tuple[int, ...]], list[Link]] = {}
    for each in distinct:
        key = (each.lexeme, each.recording, each.link.recorders)
        groups.setdefault(key, []).append(each.link)
    if len(groups) == len(distinct):
        return distinct
    return tuple(
        join_links(links).configuration(lexeme, recording)
        for (lexeme, recording, _), links in groups.items()
    )


def join_links(links: Sequence[Link]) -> Link:
    """One link that goes on as each of the links does."""
    places: dict[tuple[Network, Hashable], dict[Link | None, None]] = {}
    for link in links:
        for each in link.links if isinstance(link, JoinedLink) else (link,):
            places.setdefault((each.network, each.state), {})[each.parent] = None
    joined: list[Link] = []
    for (network, state), parents in places.items():
        above = [parent for parent in parents if parent is not None]
        if not above:
            return links[0]
        parent = above[0] if len(above) == 1 else join_links(above)
        joined.append(parent.child(network, state))
    if len(joined) == 1:
        return joined[0]
    key = frozenset(joined)
    table = joined[0].joined
    found = table.get(key)
    if found is None:
        charge(1, 1_500)
        found = table[key] = JoinedLink(key)
    return found
