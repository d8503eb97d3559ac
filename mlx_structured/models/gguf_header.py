"""The header of a GGUF file: its metadata and its table of tensors.

The layout is that of the GGUF specification (ggml, ``docs/gguf.md``), versions 2 and 3. Whatever
the header says is checked against the size of the file, so that a download that broke off is
noticed before any tensor is read.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mlx_structured.errors import ModelLoadError

Scalar = bool | int | float | str
MetadataValue = Scalar | Sequence[Scalar]

STRING, ARRAY = 8, 9
SCALAR_FORMATS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}

DEFAULT_ALIGNMENT = 32
MAX_DIMENSIONS = 4


@dataclass(frozen=True)
class TensorEncoding:
    """How ggml stores the elements of a tensor: in blocks of so many elements and bytes."""

    name: str
    block_elements: int
    block_bytes: int


TENSOR_ENCODINGS = {
    0: TensorEncoding("F32", 1, 4),
    1: TensorEncoding("F16", 1, 2),
    2: TensorEncoding("Q4_0", 32, 18),
    3: TensorEncoding("Q4_1", 32, 20),
    8: TensorEncoding("Q8_0", 32, 34),
}


@dataclass(frozen=True)
class TensorEntry:
    """One line of the table of tensors.

    Arguments:
        encoding: how the elements are stored.
        shape: outermost dimension first; the file has them the other way round.
        start: where the tensor begins, in bytes from the start of the file.
        size: in bytes.
    """

    encoding: TensorEncoding
    shape: tuple[int, ...]
    start: int
    size: int


@dataclass(frozen=True)
class GGUFHeader:
    """What a GGUF file says about itself.

    Arguments:
        path: the file, for messages.
        metadata: the key-value pairs.
        tensors: where and how each tensor is stored, by its name.
    """

    path: Path
    metadata: Mapping[str, MetadataValue]
    tensors: Mapping[str, TensorEntry]

    def error(self, reason: str) -> ModelLoadError:
        """The error to raise for this file."""
        return ModelLoadError(f"{self.path}: {reason}")

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number of the metadata; without ``default`` the key must be there."""
        value = self.metadata.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._unfit(key, "a whole number")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A number of the metadata; without ``default`` the key must be there."""
        value = self.metadata.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self._unfit(key, "a number")
        return float(value)

    def text(self, key: str, default: str | None = None) -> str:
        """A string of the metadata; without ``default`` the key must be there."""
        value = self.metadata.get(key, default)
        if not isinstance(value, str):
            raise self._unfit(key, "a text")
        return value

    def texts(self, key: str) -> list[str]:
        """An array of strings of the metadata, which must be there."""
        value = self.metadata.get(key)
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self._unfit(key, "a list of texts")
        texts = [item for item in value if isinstance(item, str)]
        if len(texts) != len(value):
            raise self._unfit(key, "a list of texts")
        return texts

    def integers(self, key: str) -> list[int]:
        """An array of whole numbers of the metadata, which must be there."""
        value = self.metadata.get(key)
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self._unfit(key, "a list of whole numbers")
        integers = [item for item in value if isinstance(item, int)]
        if len(integers) != len(value):
            raise self._unfit(key, "a list of whole numbers")
        return integers

    def _unfit(self, key: str, wanted: str) -> ModelLoadError:
        found = f"{self.metadata[key]!r:.40}" if key in self.metadata else "nothing"
        return self.error(f"its metadata needs {wanted} under {key!r}, and has {found}")


def read_header(path: Path) -> GGUFHeader:
    """Read the header of a GGUF file, and check that every tensor lies inside the file.

    Raises:
        ModelLoadError: for a file that isn't GGUF, that is cut off or otherwise broken, or that
            stores tensors in a way which mlx doesn't read.
    """
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelLoadError(f"{path}: not a GGUF file (it doesn't begin with 'GGUF')")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _parse(path, data)
    except (struct.error, UnicodeDecodeError, _BrokenHeaderError) as error:
        raise ModelLoadError(f"{path}: cut off or broken ({error}); fetch it again") from error


class _BrokenHeaderError(Exception):
    """A header that contradicts itself or the size of the file."""


class _Cursor:
    """Reads the little-endian fields of the header one after the other."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.position = 4

    def take(self, format_: str) -> Scalar:
        value: Scalar
        (value,) = struct.unpack_from("<" + format_, self.data, self.position)
        self.position += struct.calcsize("<" + format_)
        return value

    def count(self, format_: str = "Q") -> int:
        return int(self.take(format_))

    def string(self) -> str:
        start = self.position + 8
        end = start + self.count()
        if end > len(self.data):
            raise _BrokenHeaderError("a text reaches beyond the end of the file")
        self.position = end
        return self.data[start:end].decode("utf-8")

    def value(self) -> MetadataValue:
        kind = self.count("I")
        if kind == ARRAY:
            return self._array()
        if kind == STRING:
            return self.string()
        return self.take(_scalar_format(kind))

    def _array(self) -> Sequence[Scalar]:
        kind, length = self.count("I"), self.count()
        if kind == STRING:
            return [self.string() for _ in range(length)]
        format_ = _scalar_format(kind)
        values = struct.unpack_from(f"<{length}{format_}", self.data, self.position)
        self.position += length * struct.calcsize("<" + format_)
        return values


def _scalar_format(kind: int) -> str:
    if kind not in SCALAR_FORMATS:
        raise _BrokenHeaderError(f"unknown type {kind} of a metadata value")
    return SCALAR_FORMATS[kind]


def _parse(path: Path, data: mmap.mmap) -> GGUFHeader:
    cursor = _Cursor(data)
    version = cursor.count("I")
    if version not in (2, 3):
        raise ModelLoadError(f"{path}: GGUF version {version} isn't read, only 2 and 3 are")
    tensor_count, pair_count = cursor.count(), cursor.count()
    metadata: dict[str, MetadataValue] = {}
    for _ in range(pair_count):
        key = cursor.string()
        metadata[key] = cursor.value()
    entries = [_entry(path, cursor) for _ in range(tensor_count)]
    tensors: dict[str, TensorEntry] = {}
    header = GGUFHeader(path, metadata, tensors)
    alignment = header.integer("general.alignment", DEFAULT_ALIGNMENT)
    if alignment < 1:
        raise _BrokenHeaderError(f"an alignment of {alignment} bytes")
    # Entries count from here, the end of the header on the next multiple of the alignment.
    base = -(-cursor.position // alignment) * alignment
    for name, entry in entries:
        tensors[name] = replace(entry, start=base + entry.start)
        if base + entry.start + entry.size > len(data):
            raise _BrokenHeaderError(f"tensor {name!r} reaches beyond the end of the file")
    return header


def _entry(path: Path, cursor: _Cursor) -> tuple[str, TensorEntry]:
    name = cursor.string()
    shape = tuple(cursor.count() for _ in range(cursor.count("I")))[::-1]
    kind, offset = cursor.count("I"), cursor.count()
    if kind not in TENSOR_ENCODINGS:
        known = ", ".join(encoding.name for encoding in TENSOR_ENCODINGS.values())
        raise ModelLoadError(
            f"{path}: tensor {name!r} is stored as ggml type {kind}, and only {known} are read; "
            "take the model's file in one of these, or its mlx-lm folder or name"
        )
    encoding = TENSOR_ENCODINGS[kind]
    if not 1 <= len(shape) <= MAX_DIMENSIONS or 0 in shape or shape[-1] % encoding.block_elements:
        raise _BrokenHeaderError(f"tensor {name!r} doesn't consist of whole blocks")
    size = math.prod(shape) // encoding.block_elements * encoding.block_bytes
    return name, TensorEntry(encoding, shape, offset, size)
