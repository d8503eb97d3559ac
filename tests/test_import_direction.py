"""Imports go one way along ``schema -> acceptor -> mask -> logits -> text``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import mlx_structured

PACKAGE = Path(mlx_structured.__file__).parent
ORDER = (
    {"errors", "style", "cache_directory"},
    {"limits"},
    {"languages"},
    {"json_schema", "vocabulary"},
    {"automaton"},
    {"compiler", "regex", "check", "driver"},
    {"metal_mask", "masks", "models", "__main__"},
    {"processor", "prompt_ids"},
    {"decoding", "generation", "batch_generation"},
    {"__init__"},
)
LEVELS = {name: level for level, names in enumerate(ORDER) for name in names}
WITH_MLX = LEVELS["masks"]


def imported(file: Path) -> Iterator[str]:
    """The names of all modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            assert node.module is not None
            if node.module == "mlx_structured":
                yield from (f"mlx_structured.{alias.name}" for alias in node.names)
            else:
                yield node.module


def files_of(name: str) -> list[Path]:
    folder = PACKAGE / name
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{name}.py"]


def test_each_module_has_its_place() -> None:
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert modules | packages == LEVELS.keys()


@pytest.mark.parametrize("name", LEVELS)
def test_imports_go_one_way(name: str) -> None:
    for file in files_of(name):
        for module in imported(file):
            package, _, rest = module.partition(".")
            if package == "mlx_structured":
                assert LEVELS[rest.split(".")[0]] <= LEVELS[name], f"{file.name}: {module}"
            elif package in ("mlx", "mlx_lm"):
                assert LEVELS[name] >= WITH_MLX, f"{file.name}: {module}"
