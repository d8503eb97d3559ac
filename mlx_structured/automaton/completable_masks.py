"""Masks that keep a document completable within a number of tokens.

Each state has a completion: tokens that end the document. As long as no single token can lead to a
state that needs more than is left, the usual mask will do; a bound for that, the *ceiling*, is kept
with each state. Otherwise the tokens are grouped by what completing the document takes after them,
lexeme by lexeme, and those that still fit are let through. That estimate may be too high, because
it gives each lexeme tokens of its own, so the first token of the completion is always among them,
and the state after it gets the rest as its completion. So what was once promised is kept.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mlx_structured.automaton.acceptor import LEARNING
from mlx_structured.automaton.completion import NEVER, Completion, Completions
from mlx_structured.automaton.guide import Guide, GuideState
from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.link import Captured, Link, Unknown
from mlx_structured.automaton.reach import Bitmap
from mlx_structured.automaton.string_lexeme import QuoteState, StringState, string_body
from mlx_structured.automaton.tails import Tail, tails
from mlx_structured.automaton.token_walk import MANY_IDS, TokenWalk
from mlx_structured.errors import LimitExceededError
from mlx_structured.languages.expression import length_bounds
from mlx_structured.languages.language import EVERYTHING, Language
from mlx_structured.limits import charge

MAX_SUSPECTS = 12
"""Tokens of one mask that are looked at one by one."""

_LONGEST_ESCAPE = 6


Arrival: TypeAlias = "tuple[LexemeState | tuple[Tail, ...], list[int], Bitmap | None]"


class Groups:
    """Tokens by what completing the document takes after them.

    Attributes:
        ids: cost -> few token ids.
        bitmaps: cost -> whole bitmaps.
        suspects: token ids whose cost depends on what was read before them.
        reserve: what to keep for suspects where each of them isn't looked at.
    """

    __slots__ = ("bitmaps", "ids", "reserve", "suspects")

    def __init__(self) -> None:
        self.ids: dict[int, list[int]] = {}
        self.bitmaps: dict[int, list[Bitmap]] = {}
        self.suspects: list[int] = []
        self.reserve = 0

    def add(self, other: Groups) -> None:
        """Take in the tokens of another one."""
        for cost, ids in other.ids.items():
            self.ids.setdefault(cost, []).extend(ids)
        for cost, bitmaps in other.bitmaps.items():
            self.bitmaps.setdefault(cost, []).extend(bitmaps)
        self.suspects += other.suspects
        self.reserve = max(self.reserve, other.reserve)

    @property
    def ceiling(self) -> int:
        """The highest cost."""
        return max((self.reserve, *self.ids, *self.bitmaps))


class CompletableMasks:
    """The masks of one guide within a number of tokens, and completions of its states.

    EOS doesn't count as one of the tokens: it writes nothing.

    Arguments:
        guide: the states.
        walk: the walks of its vocabulary.
    """

    def __init__(self, guide: Guide, walk: TokenWalk) -> None:
        self._guide = guide
        self._walk = walk
        self.forget()
        guide.origin.add(self)

    def forget(self) -> None:
        """Start again from no completions."""
        self._completions = Completions(self._walk)
        self._groups: dict[tuple[LexemeState, Link, int], Groups] = {}
        self._generation = self._walk.generation

    def completion(self, state: GuideState) -> tuple[int, ...]:
        """Tokens that end the document from a state on; none where it may end.

        Raises:
            LimitExceededError: if none are found with a bounded search.
        """
        with LEARNING, self._guide.origin.work:
            tokens = self._completion(state)
        if tokens is None:
            raise LimitExceededError(
                "has no short way to complete the document that could be found, which a limit of "
                "tokens needs",
                "completion",
            )
        return tokens

    def bitmap(self, state: GuideState, budget: int) -> Bitmap:
        """The tokens after which the document can be completed, ``budget`` tokens in all.

        EOS ids are allowed exactly where the document may end. Where the budget is less than the
        state's completion takes, only the completion's first token is allowed.

        Arguments:
            state: where the document stands.
            budget: tokens that are left, the one to choose included.

        Returns:
            A packed, read-only bitmap.

        Raises:
            LimitExceededError: as :meth:`completion`.
            VocabularyError: as ``Guide.bitmap``.
        """
        with LEARNING, self._guide.origin.work:
            if self._generation != self._walk.make_room():
                # The numbers of nodes are new ones.
                self._groups.clear()
                self._generation = self._walk.generation
            if state.is_finished or self.ceiling(state, budget) < budget:
                return self._guide.bitmap(state)
            return self._narrowed(state, budget)

    def spell(self, text: bytes) -> tuple[int, ...] | None:
        """The fewest tokens that write the text; ``None`` if none can."""
        with LEARNING, self._guide.origin.work:
            return self._completions.spell(text)

    def fits(self, state: GuideState, budget: int) -> bool:
        """Whether the document can be completed from a state with so many tokens."""
        with LEARNING, self._guide.origin.work:
            tokens = self._completion(state)
            return tokens is not None and len(tokens) <= budget

    def ceiling(self, state: GuideState, enough: int = 0) -> int:
        """The most tokens that completing may take after one more, whichever is chosen.

        Arguments:
            state: before that token.
            enough: a rough bound below this will do.
        """
        if state.ceiling is None:
            state.ceiling = 0
            state.is_ceiling_exact = True
            for each in state.configurations:
                bound = self._rough_ceiling(each.lexeme, each.link)
                if bound is None:
                    bound = self._found(each.lexeme, each.link, 0, each.captured()).ceiling
                else:
                    state.is_ceiling_exact = False
                state.ceiling = max(state.ceiling, bound)
        if state.ceiling >= enough and not state.is_ceiling_exact:
            groups = (
                self._found(each.lexeme, each.link, 0, each.captured())
                for each in state.configurations
            )
            state.ceiling = max(each.ceiling for each in groups)
            state.is_ceiling_exact = True
        return state.ceiling

    def _completion(self, state: GuideState) -> tuple[int, ...] | None:
        if state.completion is None and state.is_accepting:
            state.completion = ()
        if state.completion is None:
            best: Completion | None = None
            for each in state.configurations:
                found = self._completions.of(each.lexeme, each.link, each.recording)
                if found is not None and (best is None or found.tokens < best.tokens):
                    best = found
            if best is not None:
                state.completion = self._completions.spell(best.text)
        return state.completion

    def _narrowed(self, state: GuideState, budget: int) -> Bitmap:
        groups = Groups()
        for each in state.configurations:
            groups.add(self._found(each.lexeme, each.link, 0, each.captured()))
        ids = [token for cost, ids in groups.ids.items() if cost < budget for token in ids]
        bitmaps = [
            bitmap
            for cost, bitmaps in groups.bitmaps.items()
            if cost < budget
            for bitmap in bitmaps
        ]
        # Each takes a search of its own; near the limit it's no loss to leave some out.
        for token in groups.suspects[:MAX_SUSPECTS]:
            following = self._guide.advance(state, token)
            if following is not None and self.fits(following, budget - 1):
                ids.append(token)
        completion = self.completion(state)
        if completion:
            first, *rest = completion
            ids.append(first)
            following = self._guide.advance(state, first)
            if following is not None:
                known = following.completion
                if known is None or len(known) > len(rest):
                    following.completion = tuple(rest)
        else:
            ids += self._guide.eos
        bitmap = self._walk.pack(ids)
        if bitmaps:
            bitmap |= np.bitwise_or.reduce(bitmaps)
        bitmap.flags.writeable = False
        return bitmap

    def _rough_ceiling(self, lexeme: LexemeState, link: Link) -> int | None:
        """A bound found fast, where the lexeme is a string: that of strings of any text."""
        is_quote = isinstance(lexeme, QuoteState)
        body = lexeme.body if isinstance(lexeme, QuoteState) else lexeme
        if not isinstance(body, StringState) or not isinstance(body.machine, Language):
            return None
        plain: LexemeState = string_body(EVERYTHING, body.spelling)
        if body is plain:
            return None
        bounds = length_bounds(body.machine)
        longest = body.machine.longest
        if bounds is not None:
            most = bounds[0]
        elif longest is not None:
            most = longest * _LONGEST_ESCAPE
        else:
            return None
        node = self._walk.nodes.children(0).get(0x22) if is_quote else 0
        if node is None:
            return None
        return self._group(plain, link, node).ceiling + most + 1

    def _found(self, lexeme: LexemeState, link: Link, node: int, captured: Captured) -> Groups:
        """The tokens below ``node`` that start with a configuration."""
        if lexeme.label is None or link.is_final:
            return self._group(lexeme, link, node)
        groups = Groups()
        self._cross(link, lexeme.label, node, captured, groups)
        groups.add(self._group(lexeme, link, node))
        return groups

    def _group(self, lexeme: LexemeState, link: Link, node: int) -> Groups:
        """The tokens below ``node`` that begin within the lexeme."""
        key = (lexeme, link, node)
        groups = self._groups.get(key)
        if groups is not None:
            return groups
        groups = Groups()
        for after, ids, bitmap in self._arrived(lexeme, node):
            self._add(after, link, ids, bitmap, groups)
        if not link.is_final:
            unknown = Unknown.TEXT if link.captures else None
            for label, exit_node in self._walk.reach(lexeme, node).exits:
                self._cross(link, label, exit_node, unknown, groups)
        charge(1, 2_000)
        self._groups[key] = groups
        return groups

    def _arrived(self, lexeme: LexemeState, node: int) -> list[Arrival]:
        """The tokens below ``node`` by the ways in which the lexeme may end after them.

        These are tails, or a state where names may come: other states may lead back to the lexeme,
        which would keep itself alive.
        """
        by_node: dict[int, list[Arrival]] | None = self._walk.arrived.get(lexeme)
        if by_node is None:
            by_node = self._walk.arrived[lexeme] = {}
        found = by_node.get(node)
        if found is None:
            alike: dict[LexemeState | tuple[Tail, ...], list[npt.NDArray[np.int64]]] = {}
            for state, ids in self._walk.arrivals(lexeme, node).items():
                ends = tails(state)
                are_names = any(isinstance(each.label, int) for each in ends)
                alike.setdefault(state if are_names else ends, []).extend(ids)
            found = []
            for ends_or_state, parts in alike.items():
                joined = np.concatenate(parts)
                if len(joined) <= MANY_IDS:
                    found.append((ends_or_state, joined.tolist(), None))
                else:
                    found.append((ends_or_state, [], self._walk.pack(joined)))
                    self._walk.memory += 4 * self._walk.words
            by_node[node] = found
            self._walk.memory += 500 * len(found)
        return found

    def _add(
        self,
        after: LexemeState | tuple[Tail, ...],
        link: Link,
        ids: list[int],
        bitmap: Bitmap | None,
        into: Groups,
    ) -> None:
        if isinstance(after, LexemeState):
            completion = self._completions.of(after, link, None)
        else:
            completion = self._completions.after_tails(after, link, None)
        if completion is None:
            cost = NEVER
        elif completion.is_certain:
            cost = completion.tokens
        else:
            cost = _reserve(completion.tokens)
            if bitmap is None:
                into.reserve = max(into.reserve, cost)
                into.suspects += ids
                return
        if bitmap is None:
            into.ids.setdefault(cost, []).extend(ids)
        else:
            into.bitmaps.setdefault(cost, []).append(bitmap)

    def _cross(
        self, link: Link, label: Hashable, node: int, captured: Captured, into: Groups
    ) -> None:
        """Add the tokens below ``node`` that go on after the lexeme has ended there."""
        children = self._walk.nodes.children(node)
        is_uncertain = link.is_uncertain and not isinstance(captured, bytes)
        if is_uncertain:
            into.suspects += self._walk.nodes.below(node)
        for each in link.after(label, captured):
            if each.lexeme.label is None and children.keys().isdisjoint(each.lexeme.following):
                continue
            unknown = Unknown.TEXT if each.link.captures else None
            groups = self._found(each.lexeme, each.link, node, unknown)
            if is_uncertain:
                into.reserve = max(into.reserve, _reserve(groups.ceiling))
            else:
                into.add(groups)


def _reserve(tokens: int) -> int:
    """What to keep where the text so far may make the completion longer than it looks."""
    return min(tokens + tokens // 2 + 16, NEVER)
