"""A GGUF header is read as the specification lays it out, and nothing broken gets through."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from gguf_files import (
    F32,
    Q4_1,
    Q6_K,
    StoredTensor,
    gguf_bytes,
    metadata_value,
    random_tensor,
    string,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from mlx_structured.errors import ModelLoadError
from mlx_structured.models.gguf_header import GGUFHeader, read_header
from mlx_structured.models.gguf_tensors import read_tensor

RNG = np.random.default_rng(1)
SMALL = gguf_bytes(
    {"general.architecture": "llama", "n": 7, "list": [1, -2], "texts": ["é", ""], "x": 0.5},
    {"a.weight": random_tensor(RNG, Q4_1, 2, 64), "b.weight": random_tensor(RNG, F32, 8)},
)


def header_of(path: Path, data: bytes) -> GGUFHeader:
    path.write_bytes(data)
    return read_header(path)


@pytest.mark.parametrize(
    ("kind", "packed", "value"),
    [
        (0, struct.pack("<B", 200), 200),
        (1, struct.pack("<b", -3), -3),
        (2, struct.pack("<H", 60000), 60000),
        (3, struct.pack("<h", -300), -300),
        (4, struct.pack("<I", 1 << 31), 1 << 31),
        (5, struct.pack("<i", -70000), -70000),
        (6, struct.pack("<f", 0.25), 0.25),
        (7, b"\x01", True),
        (8, string("héllo"), "héllo"),
        (10, struct.pack("<Q", 1 << 63), 1 << 63),
        (11, struct.pack("<q", -(1 << 62)), -(1 << 62)),
        (12, struct.pack("<d", 1e-300), 1e-300),
    ],
)
def test_every_type_of_value_is_read_alone_and_in_an_array(
    tmp_path: Path, kind: int, packed: bytes, value: object
) -> None:
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 3)
    data += string("one") + struct.pack("<I", kind) + packed
    data += string("two") + struct.pack("<IIQ", 9, kind, 2) + packed * 2
    data += string("after") + struct.pack("<II", 4, 5)
    metadata = header_of(tmp_path / "m.gguf", data).metadata
    assert metadata["one"] == value
    assert list(metadata["two"]) == [value, value]
    assert metadata["after"] == 5


def test_tensors_start_on_the_alignment_that_the_file_states(tmp_path: Path) -> None:
    header = header_of(tmp_path / "m.gguf", SMALL)
    assert [entry.start % 32 for entry in header.tensors.values()] == [0, 0]
    assert header.tensors["a.weight"].shape == (2, 64)
    assert header.tensors["b.weight"].start + 32 == len(SMALL)


def test_version_2_has_the_same_layout(tmp_path: Path) -> None:
    header = header_of(tmp_path / "m.gguf", b"GGUF" + struct.pack("<I", 2) + SMALL[8:])
    assert header.integer("n") == 7


METADATA_ALONE = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("key") + metadata_value("text")


@pytest.mark.parametrize("data", [SMALL, METADATA_ALONE], ids=["tensors", "metadata alone"])
def test_no_beginning_of_a_file_passes_for_the_whole(tmp_path: Path, data: bytes) -> None:
    header_of(tmp_path / "m.gguf", data)
    for length in range(len(data)):
        with pytest.raises(ModelLoadError):
            header_of(tmp_path / "m.gguf", data[:length])


def test_a_list_longer_than_any_file_is_refused_at_once(tmp_path: Path) -> None:
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("key")
    for length in (1 << 40, (1 << 64) - 1):
        with pytest.raises(ModelLoadError, match="broken"):
            header_of(tmp_path / "m.gguf", data + struct.pack("<IIQ", 9, 12, length) + bytes(64))


@settings(max_examples=300, deadline=None)
@given(
    st.integers(4, len(SMALL) - 1),
    st.binary(min_size=1, max_size=12) | st.integers(1, 12).map(bytes),
)
def test_damage_anywhere_is_read_within_the_file_or_refused(
    tmp_path_factory: pytest.TempPathFactory, position: int, damage: bytes
) -> None:
    data = (SMALL[:position] + damage + SMALL[position + len(damage) :])[: len(SMALL)]
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    try:
        header = header_of(path, data)
    except ModelLoadError as error:
        assert "\n" not in str(error)
        return
    for entry in header.tensors.values():
        read_tensor(path, entry)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a GGUF file"),
        (b"PK\x03\x04 something else", "not a GGUF file"),
        (b"GGUF" + struct.pack(">I", 3) + SMALL[8:], "version 50331648"),
        (b"GGUF" + struct.pack("<I", 1) + SMALL[8:], "version 1"),
        (SMALL[:-1], "'b.weight' reaches beyond the end"),
        (
            gguf_bytes({}, {"a.weight": StoredTensor(Q6_K, bytes(210), np.zeros(256))}),
            "ggml type 14",
        ),
        (
            gguf_bytes({}, {"a.weight": StoredTensor(Q4_1, bytes(20), np.zeros(31))}),
            "whole blocks",
        ),
        (
            gguf_bytes({}, {"a.weight": StoredTensor(Q4_1, b"", np.zeros((0, 32)))}),
            "whole blocks",
        ),
        (gguf_bytes({"general.alignment": 0}, {}), "alignment of 0"),
        (gguf_bytes({"general.alignment": "8"}, {}), "needs a whole number"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(
    tmp_path: Path, data: bytes, message: str
) -> None:
    with pytest.raises(ModelLoadError) as raised:
        header_of(tmp_path / "m.gguf", data)
    assert message in str(raised.value)
    assert str(tmp_path / "m.gguf") in str(raised.value)
    assert "\n" not in str(raised.value)
