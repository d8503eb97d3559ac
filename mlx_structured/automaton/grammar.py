"""From the normal form to configurations: how values of a position begin."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeAlias

from mlx_structured.automaton.array_network import ArrayNetwork
from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.link import Captured, Configuration, Link, join
from mlx_structured.automaton.number_lexeme import number_lexeme
from mlx_structured.automaton.object_network import ObjectNetwork
from mlx_structured.automaton.punctuation import punctuation_of
from mlx_structured.automaton.string_lexeme import read_language, string_lexeme
from mlx_structured.automaton.text_lexeme import text_lexeme
from mlx_structured.json_schema.json_types import CONTAINERS, TYPES, JsonType
from mlx_structured.json_schema.memo import Memo
from mlx_structured.json_schema.nodes import ValueSet, is_passing
from mlx_structured.json_schema.normal_form import NormalForm
from mlx_structured.json_schema.responsible import responsible_keyword
from mlx_structured.languages.language import Language, is_known_rest
from mlx_structured.languages.spelled_numbers import Numbers
from mlx_structured.style import Style

_SYMBOLS = {None: b"null", True: b"true", False: b"false"}


_Beginnings: TypeAlias = "tuple[tuple[LexemeState, ...], tuple[ArrayNetwork | ObjectNetwork, ...]]"


class Grammar:
    """The values of one schema in one style.

    Arguments:
        form: the schema in normal form.
        style: how values are written.
    """

    def __init__(self, form: NormalForm, style: Style) -> None:
        self.form = form
        self.style = style
        self.punctuation = punctuation_of(style)
        self._begun: Memo[ValueSet, _Beginnings] = Memo(is_passing)

    def begin(self, values: ValueSet, link: Link) -> list[Configuration]:
        """The configurations in which a value of the position begins.

        Arguments:
            values: the position.
            link: what goes on after the value.
        """
        begun = self._begun.get(values)
        if begun is None:
            array, object_ = self.form.array(values), self.form.object(values)
            containers: list[ArrayNetwork | ObjectNetwork] = []
            if array is not None:
                containers.append(ArrayNetwork(self, array, values))
            if object_ is not None:
                containers.append(ObjectNetwork(self, object_, values))
            begun = (tuple(self._scalar_lexemes(values)), tuple(containers))
            self._begun[values] = begun
        lexemes, networks = begun
        configurations = [link.configuration(lexeme) for lexeme in lexemes]
        configurations += [network.begin(link) for network in networks]
        return configurations

    def release(self) -> None:
        """Take apart what refers to itself, so that it goes without a garbage collection."""
        self.form.release()
        vars(self).clear()

    def responsible(
        self, lexeme: LexemeState, container: ValueSet | None, of: JsonType
    ) -> tuple[str, str]:
        """The keyword to name when reading a lexeme takes too much work, with its pointer.

        Arguments:
            lexeme: what is read.
            container: the position of the array or object around it, to blame if the lexeme's own
                isn't found.
            of: the type of that.
        """
        text = read_language(lexeme)
        if text is not None:
            for values in self._begun.known():
                members = self.form.scalars(values, "string")
                if isinstance(members, Language) and is_known_rest(text, members):
                    keyword, pointer = responsible_keyword(values, "string")
                    if keyword:
                        return keyword, pointer
        return ("", "") if container is None else responsible_keyword(container, of)

    def _scalar_lexemes(self, values: ValueSet) -> Iterable[LexemeState]:
        form = self.form
        for json_type in TYPES:
            if json_type in CONTAINERS or not form.has_scalar(values, json_type):
                continue
            members = form.scalars(values, json_type)
            if isinstance(members, Language):
                yield string_lexeme(members, self.style.spelling)
            elif isinstance(members, Numbers):
                lexeme = number_lexeme(members, self.style.spelling, self.style.max_digits)
                if lexeme is not None:
                    yield lexeme
            else:
                for symbol in sorted(members, key=str):
                    yield text_lexeme(_SYMBOLS[symbol])


class DocumentNetwork:
    """The whole document: one value, with whitespace around it where the style allows any.

    States: ``"leading"`` before the value, ``"value"`` while it is read, ``"end"`` after it.
    """

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar

    def __del__(self) -> None:
        # No link leads here any more.
        self._grammar.release()

    def begin(self) -> tuple[Configuration, ...]:
        """The configurations before the first byte, with links of their own."""
        root = Link(self, "root", None)
        configurations = self._grammar.begin(self._grammar.form.root, root.child(self, "value"))
        leading = self._grammar.punctuation.leading
        if leading is not None:
            link = root.child(self, "leading")
            configurations += [
                link.configuration(lexeme) for lexeme in set(leading.transitions.values())
            ]
        return join(configurations)

    def follow(
        self, link: Link, state: Hashable, label: Hashable, captured: Captured
    ) -> Iterable[Configuration]:
        """See :class:`~mlx_structured.automaton.link.Network`."""
        if state == "leading":
            return self._grammar.begin(self._grammar.form.root, link.sibling("value"))
        return [link.sibling("end").configuration(self._grammar.punctuation.trailing)]

    def responsible(self, state: Hashable, lexeme: LexemeState) -> tuple[str, str]:
        """See :class:`~mlx_structured.automaton.link.Network`."""
        return self._grammar.responsible(lexeme, None, "object")

    def captures(self, state: Hashable) -> bool:
        """Never."""
        return False

    def is_final(self, state: Hashable) -> bool:
        """After the value."""
        return state == "end"

    def is_uncertain(self, state: Hashable) -> bool:
        """Never."""
        return False
