"""Flags and their mistakes: each is told on standard error with status 2, and nothing is run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import BIN, cli


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check"], "name a file or folder"),
        (["check", "--nonsense", "x.py"], "unknown option --nonsense"),
        (["check", "--apply", "x.py"], "unknown option --apply (it is one of graphglue-lsp fix"),
        (["check", "--jsn", "x.py"], "did you mean --json?"),
        (["check", "-j0", "x.py"], "-j wants a number from 1 to"),
        (["check", "--log-level", "loud", "x.py"], "--log-level wants error"),
        (
            ["check", "--select", "GB0170,print", "x.py"],
            "--select wants break ids such as GB0170, or rules, not 'print'",
        ),
        (["check", "--ignore", "GG001", "x.py"], "'GG001' is a repair rule"),
        (["check", "-j", "0", "x.py"], "-j wants a number from 1 to"),
        (["check", "-j", "two", "x.py"], "not 'two'"),
        (["check", "-j", "-1", "x.py"], "not '-1'"),
        (["check", "-j", "99999999999999999999", "x.py"], "-j wants a number"),
        (["check", "x.py", "-j"], "-j wants N"),
        (["check", "--json=yes", "x.py"], "--json takes no value"),
        (["check", "--timeout=", "x.py"], "--timeout wants a number"),
        (["check", "--fail-on", "always", "x.py"], "--fail-on wants breaks or never"),
        (["fix", "--diff", "--apply", "x.py"], "--diff and --apply exclude each other"),
        (["fix", "--max-safety", "none", "x.py"], "--max-safety wants exact, effects, numeric, config or opaque"),
        (["fix"], "name a file or folder"),
        (["explain"], "name one break id"),
        (["explain", "GB0170", "GB0007"], "name one break id"),
        (["explain", "GB9999"], "GB9999"),
        (["--nonsense"], "unknown option '--nonsense'"),
        (["polish"], "unknown command 'polish'"),
        (["chekc", "x.py"], "did you mean 'check'?"),
        (["models/x.py"], "did you mean 'graphglue-lsp check models/x.py'?"),
        (["--log-level", "loud", "check"], "--log-level wants error"),
        ([], "usage:"),
    ],
    ids=lambda v: " ".join(v) or "none" if isinstance(v, list) else "",
)
def test_usage_errors(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(BIN / "graphglue-lsp"), *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (2, ""), done
    assert words in done.stderr


@pytest.mark.parametrize("command", ["check", "fix", "explain", "doctor"])
def test_help_names_its_own_flags(command: str) -> None:
    done = cli(command, "--help", python=None)
    assert done.returncode == 0
    assert f"usage: graphglue-lsp {command}" in done.stdout and "--python PATH" in done.stdout
    assert ("--max-safety CLASS" in done.stdout) == (command == "fix")


def test_version_and_help() -> None:
    for flag, words in (("--version", "graphglue-lsp 0."), ("--help", "--stdio")):
        done = subprocess.run(
            [str(BIN / "graphglue-lsp"), flag], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0 and words in done.stdout


def test_a_name_that_looks_like_a_flag_goes_behind_two_dashes(tmp_path: Path) -> None:
    (tmp_path / "--odd.py").write_text("x = 1\n")
    done = cli("check", "--static", "--", "--odd.py", cwd=tmp_path)
    assert done.returncode == 0, done
