"""Which bytes each token id of a model stands for, and the trie of all of them."""

from mlx_structured.vocabulary.token_trie import TokenTrie
from mlx_structured.vocabulary.vocabulary import Vocabulary

__all__ = ["TokenTrie", "Vocabulary"]
