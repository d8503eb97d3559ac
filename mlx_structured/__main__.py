"""The command line: ``python -m mlx_structured check schema.json``."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from mlx_structured.check import check_schema, format_report
from mlx_structured.errors import SchemaError, StructuredError
from mlx_structured.json_schema.dialects import DIALECTS, DRAFT202012, find_dialect
from mlx_structured.style import STYLES


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        0 if the schema is supported, 1 if it isn't, isn't valid, or no value satisfies it. Wrong
        arguments and files that can't be read end the program with status 2.
    """
    parser = argparse.ArgumentParser(prog="mlx_structured", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="say whether and how a JSON Schema is enforced")
    check.add_argument("schema", help="file with a JSON Schema; - reads standard input")
    check.add_argument(
        "--dialect",
        type=_dialect,
        default=DRAFT202012.uri,
        metavar="URI",
        help=f"metaschema of a schema without $schema: {', '.join(DIALECTS)}",
    )
    check.add_argument("--style", choices=STYLES, help="how documents are written")
    parsed = parser.parse_args(arguments)
    try:
        schema = _read(parsed.schema)
    except OSError as error:
        check.exit(2, f"can't read {parsed.schema}: {error.strerror or error}\n")
    try:
        text = schema.decode("utf-8-sig")
        report = check_schema(text, style=parsed.style, default_dialect=parsed.dialect)
    except UnicodeDecodeError as error:
        return _fail(f"not JSON: {parsed.schema} isn't UTF-8 (byte {error.start})")
    except StructuredError as error:
        return _fail(str(error))
    _show(format_report(report), sys.stdout)
    return 0 if report.is_supported else 1


def _dialect(uri: str) -> str:
    try:
        return find_dialect(uri).uri
    except SchemaError as error:
        raise argparse.ArgumentTypeError(error.reason) from error


def _read(name: str) -> bytes:
    return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()


def _fail(message: str) -> int:
    _show(" ".join(message.splitlines()), sys.stderr)
    return 1


def _show(text: str, stream: TextIO) -> None:
    """Print what the terminal can show, and the rest in escapes."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        # Whoever reads has enough; without this, Python would complain again at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
