"""Short completions: what to write from a configuration on to end the document.

A completion is put together from the shortest text of each lexeme and, of all ways through the
networks, the one whose lexemes take the fewest tokens. The search goes container by container: the
rest of a container doesn't depend on what is around it, so it's found once for each place. Nested
containers are searched along with the outer one, in the order of the tokens spent so far (Knuth's
generalisation of Dijkstra's algorithm), so that recursive schemas end with their shortest value.

Where later places depend on the text of earlier ones (``uniqueItems``, keys that aren't named), the
completion's own text is taken. A text that isn't known yet makes a completion *uncertain* if
anything that may not come twice is written after it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple, TypeAlias, cast

from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.link import (
    Captured,
    JoinedLink,
    Link,
    Network,
    Recording,
    Unknown,
)
from mlx_structured.automaton.object_network import ObjectNetwork
from mlx_structured.automaton.tails import Tail, tails
from mlx_structured.automaton.token_walk import TokenWalk

MAX_EXACT_STEPS = 4_000
"""Lexemes that a search for the shortest completion reads; after that any short one will do."""

MAX_STEPS = 20_000
"""Lexemes that a search for any completion reads before it gives up."""

MAX_REMEMBERED = 20_000
"""Rests of containers, and counted texts, that are kept; with more, it starts again from none."""

MAX_SPELLED = 4096
"""Longer texts are counted lexeme by lexeme."""

_PENALTY = 24

Place: TypeAlias = "tuple[Network, Hashable, Hashable, int]"


class Completion(NamedTuple):
    """What to write to end the document.

    Arguments:
        tokens: how many it takes at most.
        text: all of it.
        is_certain: whether it holds for any text that isn't known.
    """

    tokens: int
    text: bytes
    is_certain: bool


NOTHING = Completion(0, b"", is_certain=True)


class _Rest(NamedTuple):
    """What to write to end a container: the end of a text that others share."""

    tokens: int
    whole: bytes
    start: int
    label: Hashable
    is_certain: bool


class _Step(NamedTuple):
    """A lexeme has ended: where and as what, and what was written since the container began.

    ``link`` is ``None`` where the container has ended, too. ``chunk`` is the last piece of the
    text, which has ``size`` bytes in all.
    """

    link: Link | None
    label: Hashable
    captured: Captured
    tokens: int
    size: int
    chunk: bytes
    is_certain: bool
    before: _Step | None


class _Waiting(NamedTuple):
    """A place that goes on when the container that was opened there is at its end."""

    priority: int
    outer: _Container
    place: Link
    opened: _Step


class _Container:
    """A container that is searched: who waits for its end, and the places seen."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.waiting: list[_Waiting] = []
        self.seen: set[tuple[Link | None, Hashable, Captured]] = set()
        self.is_done = False


class Completions:
    """Completions of one grammar over the tokens of one vocabulary, memoised.

    Arguments:
        walk: the walks of the vocabulary.
    """

    def __init__(self, walk: TokenWalk) -> None:
        self._walk = walk
        self._counts: dict[bytes, int | None] = {}
        self._rests: dict[Place, _Rest | None] = {}
        self._after: dict[tuple[Link, Hashable], Completion | None] = {}

    def forget_links(self) -> None:
        """Let go of the links met."""
        self._after.clear()

    def spell(self, text: bytes) -> tuple[int, ...] | None:
        """The fewest tokens that write the text, longer ones first; ``None`` if none can."""
        size = len(text)
        fewest: list[int | None] = [None] * size + [0]
        chosen = [(0, 0)] * size
        walk = self._walk
        for start in range(size - 1, -1, -1):
            node: int | None = 0
            for end in range(start, size):
                node = walk.children(cast("int", node)).get(text[end])
                if node is None:
                    break
                rest = fewest[end + 1]
                ids = walk.ids(node)
                if rest is None or not ids:
                    continue
                best = fewest[start]
                if best is None or rest < best:
                    fewest[start] = rest + 1
                    chosen[start] = (ids[0], end + 1)
                elif rest + 1 == best:
                    chosen[start] = (ids[0], end + 1)
        if fewest[0] is None:
            return None
        tokens = []
        at = 0
        while at < size:
            token, at = chosen[at]
            tokens.append(token)
        return tuple(tokens)

    def count(self, text: bytes) -> int | None:
        """How many tokens write the text at least."""
        try:
            return self._counts[text]
        except KeyError:
            pass
        tokens = self.spell(text)
        if len(self._counts) >= MAX_REMEMBERED:
            self._counts.clear()
        counted = self._counts[text] = None if tokens is None else len(tokens)
        return counted

    def of(self, lexeme: LexemeState, link: Link, recording: Recording | None) -> Completion | None:
        """The completion of a configuration.

        Arguments:
            lexeme: what is being read.
            link: what goes on after it.
            recording: what was read so far where the text matters; ``None`` if it isn't known.

        Returns:
            ``None`` if none is found.
        """
        if isinstance(link, JoinedLink):
            return self._best(self.of(lexeme, each, recording) for each in link.links)
        found = []
        for tail in _tails(lexeme, link):
            tokens = self.count(tail.text)
            if tokens is None:
                continue
            written = None
            if recording is not None:
                written = Recording(recording.text + tail.text, recording.starts)
            rest = self.after(link, tail.label, written)
            if rest is not None:
                found.append(
                    Completion(tokens + rest.tokens, tail.text + rest.text, rest.is_certain)
                )
        return self._best(found)

    def after(self, link: Link, label: Hashable, recording: Recording | None) -> Completion | None:
        """The completion after the lexeme that ``link`` waits for has ended.

        Arguments and result are those of :meth:`of`.
        """
        if isinstance(link, JoinedLink):
            return self._best(self.after(each, label, recording) for each in link.links)
        if link.is_final:
            return NOTHING
        if recording is not None:
            return self._find_after(link, label, recording)
        key = (link, label)
        if key not in self._after:
            if len(self._after) >= MAX_REMEMBERED:
                self._after.clear()
            self._after[key] = self._spelled(self._find_after(link, label, None))
        return self._after[key]

    def _spelled(self, completion: Completion | None) -> Completion | None:
        """The completion with tokens that go over the ends of lexemes."""
        if completion is None or len(completion.text) > MAX_SPELLED:
            return completion
        tokens = self.count(completion.text)
        return completion if tokens is None else completion._replace(tokens=tokens)

    @staticmethod
    def _best(completions: Iterable[Completion | None]) -> Completion | None:
        found = [each for each in completions if each is not None]
        return min(found, key=lambda each: (each.tokens, len(each.text)), default=None)

    def _find_after(
        self, link: Link, label: Hashable, recording: Recording | None
    ) -> Completion | None:
        captured: Captured = None
        if link.captures:
            captured = Unknown.TEXT if recording is None else link.captured(recording)
        rest = self._rest(link, label, captured)
        if rest is None:
            return None
        is_certain = rest.is_certain and not (recording is None and link.is_uncertain)
        text = rest.whole[rest.start :]
        above = link.parent
        if above is None or above.parent is None:
            return Completion(rest.tokens, text, is_certain)
        if recording is not None:
            written = Recording(recording.text + text, recording.starts)
            recording = above.continued(written)
        further = self.after(above, rest.label, recording)
        if further is None:
            return None
        return Completion(
            rest.tokens + further.tokens, text + further.text, is_certain and further.is_certain
        )

    def _rest(self, link: Link, label: Hashable, captured: Captured) -> _Rest | None:
        """What to write after the lexeme to end the container that the link is a place of."""
        key = _place(link, label)
        if captured is not None:
            return self._search(link, label, captured)
        if key not in self._rests:
            if len(self._rests) >= MAX_REMEMBERED:
                self._rests.clear()
            rest = self._search(link, label, None)
            self._rests[key] = rest
        return self._rests[key]

    def _search(self, link: Link, label: Hashable, captured: Captured) -> _Rest | None:
        for penalty, steps in ((0, MAX_EXACT_STEPS), (_PENALTY, MAX_STEPS)):
            search = _Search(self.count, self._rests, penalty)
            rest = search.run(link, label, captured, steps)
            if rest is not None or not search.is_cut_off:
                return rest
        return None


class _Search:
    """One search for the rest of a container.

    Arguments:
        count: how many tokens write a text.
        rests: what is known, by place; what is found is added.
        penalty: tokens that each further choice at a place counts for. With 0 the result is the
            shortest; otherwise the first choices are followed first.
    """

    def __init__(
        self, count: Callable[[bytes], int | None], rests: dict[Place, _Rest | None], penalty: int
    ) -> None:
        self._count = count
        self._rests = rests
        self._penalty = penalty
        self._containers: dict[Place, _Container] = {}
        self._queue: list[tuple[int, int, int, _Container, _Step]] = []
        self._serial = 0
        self.is_cut_off = False

    def run(self, link: Link, label: Hashable, captured: Captured, max_steps: int) -> _Rest | None:
        """The rest after the lexeme that ``link`` waits for has ended; ``None`` for none found."""
        top = _Container(link.depth)
        self._push(0, top, _Step(link, label, captured, 0, 0, b"", is_certain=True, before=None))
        for _ in range(max_steps):
            if not self._queue:
                return None
            priority, _, _, container, step = heapq.heappop(self._queue)
            if container.is_done:
                continue
            if step.link is None:
                rest = self._finish(container, step)
                if container is top:
                    return rest
            elif (at := (step.link, step.label, step.captured)) not in container.seen:
                container.seen.add(at)
                self._go_on(priority, container, step, step.link)
        self.is_cut_off = True
        return None

    def _push(self, priority: int, container: _Container, step: _Step) -> None:
        self._serial += 1
        heapq.heappush(self._queue, (priority, step.size, self._serial, container, step))

    def _go_on(self, priority: int, container: _Container, step: _Step, link: Link) -> None:
        known = self._rests.get(_place(link, step.label)) if step.captured is None else None
        if known is not None:
            ended = _written(step, known, known.label)._replace(link=None)
            self._push(priority + known.tokens, container, ended)
            return
        ways: list[tuple[int, int, Link, Tail]] = []
        for each in link.network.follow(link, link.state, step.label, step.captured):
            for tail in _tails(each.lexeme, each.link):
                tokens = self._count(tail.text)
                if tokens is not None:
                    ways.append((tokens, len(ways), each.link, tail))
        if self._penalty:
            ways.sort()
        for rank, (tokens, _, target, tail) in enumerate(ways):
            certain = step.is_certain and not target.is_uncertain
            piece = _Rest(tokens, tail.text, 0, tail.label, certain)
            after = _written(step, piece, tail.label)
            cost = priority + tokens + rank * self._penalty
            if target.depth < container.depth or target.is_final:
                self._push(cost, container, after._replace(link=None))
            elif target.depth == container.depth:
                captured = tail.text if target.captures else None
                self._push(cost, container, after._replace(link=target, captured=captured))
            else:
                self._enter(cost, container, after, target)

    def _enter(self, priority: int, outer: _Container, opened: _Step, link: Link) -> None:
        """Go on in a nested container, at its place after the opening bracket."""
        waiting = _Waiting(priority, outer, cast("Link", link.parent), opened)
        key = _place(link, opened.label)
        known = self._rests.get(key)
        if known is not None:
            self._close(waiting, known)
            return
        container = self._containers.get(key)
        if container is None:
            container = self._containers[key] = _Container(link.depth)
            start = _Step(link, opened.label, None, 0, 0, b"", is_certain=True, before=None)
            self._push(priority, container, start)
        container.waiting.append(waiting)

    def _close(self, waiting: _Waiting, rest: _Rest) -> None:
        """Go on after a nested container."""
        place = waiting.place
        after = _written(waiting.opened, rest, rest.label)
        chunk = waiting.opened.chunk + after.chunk
        captured = chunk if place.captures else None
        certain = after.is_certain and not place.is_uncertain
        after = after._replace(
            link=place,
            captured=captured,
            chunk=chunk,
            is_certain=certain,
            before=waiting.opened.before,
        )
        self._push(waiting.priority + rest.tokens, waiting.outer, after)

    def _finish(self, container: _Container, end: _Step) -> _Rest:
        container.is_done = True
        chunks = []
        at: _Step | None = end
        while at is not None:
            chunks.append(at.chunk)
            at = at.before
        whole = b"".join(reversed(chunks))
        rest = _Rest(end.tokens, whole, 0, end.label, end.is_certain)
        at = end.before
        while at is not None:
            if at.captured is None and at.link is not None:
                self._rests[_place(at.link, at.label)] = _Rest(
                    end.tokens - at.tokens, whole, at.size, end.label, end.is_certain
                )
            at = at.before
        for each in container.waiting:
            self._close(each, rest)
        return rest


def _written(step: _Step, rest: _Rest, label: Hashable) -> _Step:
    """The step after writing more."""
    chunk = rest.whole[rest.start :]
    return _Step(
        step.link,
        label,
        None,
        step.tokens + rest.tokens,
        step.size + len(chunk),
        chunk,
        is_certain=step.is_certain and rest.is_certain,
        before=step,
    )


def _place(link: Link, label: Hashable) -> Place:
    return link.network, link.state, label, link.depth


def _tails(lexeme: LexemeState, link: Link) -> tuple[Tail, ...]:
    network = link.network
    if isinstance(network, ObjectNetwork):
        return tails(lexeme, network.required_after(link.state))
    return tails(lexeme)
