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
from collections.abc import Callable, Hashable, Iterable, Set
from typing import NamedTuple, TypeAlias, cast

from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.link import (
    Captured,
    Configuration,
    JoinedLink,
    Link,
    Network,
    Recording,
    Unknown,
)
from mlx_structured.automaton.object_network import ObjectNetwork
from mlx_structured.automaton.tails import Tail, tails
from mlx_structured.automaton.token_walk import TokenWalk
from mlx_structured.limits import Portion, charge

MAX_EXACT_STEPS = 4_000
"""Lexemes that a search for the shortest completion reads; after that any short one will do."""

MAX_STEPS = 20_000
"""Lexemes that a search for any completion reads before it gives up."""

FOLLOWED_STATES = 20_000
"""What takes more states to analyse isn't the way to a short completion."""

NEVER = 1 << 40
"""The cost of a text that no tokens write."""

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


class _Text(NamedTuple):
    """A text that ends a container.

    Arguments:
        data: the text.
        costs: for each position, how many tokens write what follows at least.
        seams: positions that no token goes over: the ends of containers within it. What follows a
            container is searched apart from it, so the costs don't count on such tokens.
    """

    data: bytes
    costs: list[int]
    seams: frozenset[int]


class _Rest(NamedTuple):
    """What to write to end a container: a text from some position on, which others share.

    ``tokens`` counts each lexeme apart.
    """

    tokens: int
    text: _Text
    start: int
    label: Hashable
    is_certain: bool


class _Step(NamedTuple):
    """A lexeme has ended: where and as what, and what was written since the container began.

    ``link`` is ``None`` where the container has ended, too. ``chunk`` is the last piece of the
    text, which has ``size`` bytes in all, and ``seams`` are those of the chunk.
    """

    link: Link | None
    label: Hashable
    captured: Captured
    tokens: int
    size: int
    chunk: bytes
    seams: tuple[int, ...]
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
        self._known: dict[tuple[Link, Hashable], Completion | None] = {}

    def spell(self, text: bytes) -> tuple[int, ...] | None:
        """The fewest tokens that write the text, longer ones first; ``None`` if none can."""
        costs = self._costs(text)
        if costs[0] >= NEVER:
            return None
        tokens = []
        start = 0
        while start < len(text):
            _, start, token = min(
                (costs[end], -end, token) for end, token in self._tokens_at(text, start, len(text))
            )
            start = -start
            tokens.append(token)
        return tuple(tokens)

    def _tokens_at(self, text: bytes, start: int, stop: int) -> Iterable[tuple[int, int]]:
        """The tokens that the text goes on with up to ``stop``, and where they end."""
        node: int | None = 0
        for end in range(start, stop):
            node = self._walk.nodes.children(cast("int", node)).get(text[end])
            if node is None:
                return
            ids = self._walk.nodes.tokens[node]
            if ids:
                yield end + 1, ids[0]

    def _costs(self, text: bytes, seams: frozenset[int] = frozenset()) -> list[int]:
        """For each position, how many tokens write what follows at least."""
        costs = [NEVER] * len(text) + [0]
        self._fill(costs, text, len(text), seams)
        return costs

    def _cost_before(self, before: bytes, text: _Text, start: int) -> int:
        """How many tokens write something and then a text from a position on."""
        stop = start + self._walk.longest
        costs = [NEVER] * len(before) + text.costs[start : stop + 1]
        window = before + text.data[start:stop]
        size = len(before)
        seams = {seam - start + size for seam in text.seams if start <= seam < stop}
        self._fill(costs, window, size, seams)
        return costs[0]

    def _fill(self, costs: list[int], text: bytes, count: int, seams: Set[int]) -> None:
        """Find the first ``count`` costs from those after them."""
        stop = min((seam for seam in seams if seam >= count), default=len(text))
        for start in range(count - 1, -1, -1):
            if start + 1 in seams:
                stop = start + 1
            ends = (end for end, _ in self._tokens_at(text, start, stop))
            costs[start] = 1 + min((costs[end] for end in ends), default=NEVER)

    def count(self, text: bytes) -> int | None:
        """How many tokens write the text at least."""
        try:
            return self._counts[text]
        except KeyError:
            pass
        charge(1, 200 + len(text))
        cost = self._costs(text)[0]
        counted = self._counts[text] = None if cost >= NEVER else cost
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
            return _best(self.of(lexeme, each, recording) for each in link.links)
        return self.after_tails(_tails(lexeme, link), link, recording)

    def after_tails(
        self, ends: Iterable[Tail], link: Link, recording: Recording | None
    ) -> Completion | None:
        """The completion of a configuration whose lexeme may be ended by certain texts."""
        try:
            return _best(
                self._after(link, tail.label, _recorded(recording, tail.text), tail.text)
                for tail in ends
            )
        except RecursionError:
            # Hundreds of levels of arrays that are compared: as if nothing were found.
            return None

    def _after(
        self, link: Link, label: Hashable, recording: Recording | None, before: bytes = b""
    ) -> Completion | None:
        """What ends the lexeme that ``link`` waits for, and what is written after it."""
        if isinstance(link, JoinedLink):
            return _best(self._after(each, label, recording, before) for each in link.links)
        if link.is_final:
            tokens = self.count(before)
            return None if tokens is None else Completion(tokens, before, is_certain=True)
        if recording is not None or before:
            return self._find_after(link, label, recording, before)
        key = (link, label)
        if key not in self._known:
            self._known[key] = self._find_after(link, label, None, before)
        return self._known[key]

    def _find_after(
        self, link: Link, label: Hashable, recording: Recording | None, before: bytes
    ) -> Completion | None:
        captured: Captured = None
        if link.captures:
            captured = Unknown.TEXT if recording is None else link.captured(recording)
        rest = self._rest(link, label, captured)
        if rest is None:
            return None
        tokens = self._cost_before(before, rest.text, rest.start)
        if tokens >= NEVER:
            return None
        is_certain = rest.is_certain and not (recording is None and link.is_uncertain)
        text = rest.text.data[rest.start :]
        above = link.parent
        if above is None or above.parent is None:
            return Completion(tokens, before + text, is_certain)
        if recording is not None:
            recording = above.continued(_recorded(recording, text))
        further = self._after(above, rest.label, recording)
        if further is None:
            return None
        return Completion(
            tokens + further.tokens,
            before + text + further.text,
            is_certain and further.is_certain,
        )

    def _rest(self, link: Link, label: Hashable, captured: Captured) -> _Rest | None:
        """What to write after the lexeme to end the container that the link is a place of."""
        key = _place(link, label)
        if captured is not None:
            return self._search(link, label, captured)
        if key not in self._rests:
            rest = self._search(link, label, None)
            self._rests[key] = rest
        return self._rests[key]

    def _search(self, link: Link, label: Hashable, captured: Captured) -> _Rest | None:
        for penalty, steps in ((0, MAX_EXACT_STEPS), (_PENALTY, MAX_STEPS)):
            search = _Search(self.count, self._costs, self._rests, penalty)
            rest = search.run(link, label, captured, steps)
            if rest is not None or not search.is_cut_off:
                return rest
        return None


class _Search:
    """One search for the rest of a container.

    Arguments:
        count: how many tokens write a text.
        costs: how many write what follows each position of a text with seams.
        rests: what is known, by place; what is found is added.
        penalty: tokens that each further choice at a place counts for. With 0 the result is the
            shortest; otherwise the first choices are followed first.
    """

    def __init__(
        self,
        count: Callable[[bytes], int | None],
        costs: Callable[[bytes, frozenset[int]], list[int]],
        rests: dict[Place, _Rest | None],
        penalty: int,
    ) -> None:
        self._count = count
        self._costs = costs
        self._rests = rests
        self._penalty = penalty
        self._containers: dict[Place, _Container] = {}
        self._queue: list[tuple[int, int, int, _Container, _Step]] = []
        self._serial = 0
        self.is_cut_off = False

    def run(self, link: Link, label: Hashable, captured: Captured, max_steps: int) -> _Rest | None:
        """The rest after the lexeme that ``link`` waits for has ended; ``None`` for none found."""
        top = _Container(link.depth)
        self._push(0, top, _start(link, label, captured))
        for _ in range(max_steps):
            if not self._queue:
                return None
            charge(1, 300)
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
            ended = _rest_written(step, known)._replace(link=None)
            self._push(priority + known.tokens, container, ended)
            return
        ways: list[tuple[int, int, Link, Tail]] = []
        for each in self._follow(link, step):
            for tail in _tails(each.lexeme, each.link):
                tokens = self._count(tail.text)
                if tokens is not None:
                    ways.append((tokens, len(ways), each.link, tail))
        if self._penalty:
            ways.sort()
        for rank, (tokens, _, target, tail) in enumerate(ways):
            certain = step.is_certain and not target.is_uncertain
            after = _Step(
                target,
                tail.label,
                tail.text if target.captures else None,
                step.tokens + tokens,
                step.size + len(tail.text),
                tail.text,
                (),
                certain,
                before=step,
            )
            cost = priority + tokens + rank * self._penalty
            if target.depth < container.depth or target.is_final:
                self._push(cost, container, after._replace(link=None))
            elif target.depth == container.depth:
                self._push(cost, container, after)
            else:
                self._enter(cost, container, after, target)

    @staticmethod
    def _follow(link: Link, step: _Step) -> Iterable[Configuration]:
        with Portion(FOLLOWED_STATES) as portion:
            return tuple(link.network.follow(link, link.state, step.label, step.captured))
        assert portion.is_spent
        return ()

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
            start = _start(link, opened.label, None)
            self._push(priority, container, start)
        container.waiting.append(waiting)

    def _close(self, waiting: _Waiting, rest: _Rest) -> None:
        """Go on after a nested container."""
        place, opened = waiting.place, waiting.opened
        after = _rest_written(opened, rest)
        chunk = opened.chunk + after.chunk
        seams = (*(len(opened.chunk) + seam for seam in after.seams), len(chunk))
        after = after._replace(
            link=place,
            captured=chunk if place.captures else None,
            chunk=chunk,
            seams=seams,
            is_certain=after.is_certain and not place.is_uncertain,
            before=opened.before,
        )
        self._push(waiting.priority + rest.tokens, waiting.outer, after)

    def _finish(self, container: _Container, end: _Step) -> _Rest:
        container.is_done = True
        chunks: list[bytes] = []
        seams: set[int] = set()
        at: _Step | None = end
        while at is not None:
            chunks.append(at.chunk)
            seams.update(at.size - len(at.chunk) + seam for seam in at.seams)
            at = at.before
        data = b"".join(reversed(chunks))
        charge(1 + len(data) // 8, 500 + 20 * len(data))
        text = _Text(data, self._costs(data, frozenset(seams)), frozenset(seams))
        rest = _Rest(end.tokens, text, 0, end.label, end.is_certain)
        at = end.before
        while at is not None:
            if at.captured is None and at.link is not None:
                self._rests[_place(at.link, at.label)] = _Rest(
                    end.tokens - at.tokens, text, at.size, end.label, end.is_certain
                )
            at = at.before
        for each in container.waiting:
            self._close(each, rest)
        return rest


def _start(link: Link, label: Hashable, captured: Captured) -> _Step:
    return _Step(link, label, captured, 0, 0, b"", (), is_certain=True, before=None)


def _rest_written(step: _Step, rest: _Rest) -> _Step:
    """The step after writing the rest of a container."""
    chunk = rest.text.data[rest.start :]
    return _Step(
        step.link,
        rest.label,
        None,
        step.tokens + rest.tokens,
        step.size + len(chunk),
        chunk,
        tuple(seam - rest.start for seam in rest.text.seams if seam > rest.start),
        is_certain=step.is_certain and rest.is_certain,
        before=step,
    )


def _best(completions: Iterable[Completion | None]) -> Completion | None:
    found = [each for each in completions if each is not None]
    return min(found, key=lambda each: (each.tokens, len(each.text)), default=None)


def _recorded(recording: Recording | None, text: bytes) -> Recording | None:
    return None if recording is None else Recording(recording.text + text, recording.starts)


def _place(link: Link, label: Hashable) -> Place:
    return link.network, link.state, label, link.depth


def _tails(lexeme: LexemeState, link: Link) -> tuple[Tail, ...]:
    network = link.network
    if isinstance(network, ObjectNetwork):
        return tails(lexeme, network.required_after(link.state))
    return tails(lexeme)
