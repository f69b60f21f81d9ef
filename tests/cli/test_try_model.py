"""script/try-model: the whole loop against an endpoint that a person names, here one that mends the example on its second try."""

import os
import subprocess
import sys
from pathlib import Path

from conftest import BIN, ROOT

sys.path.insert(0, str(ROOT / "tests"))
from model_server import Answer, ModelServer, Request  # noqa: E402

EXAMPLE = (ROOT / "examples" / "ranking.py").read_text()
CLASS = EXAMPLE[EXAMPLE.index("class Ranker") : EXAMPLE.index("def graphglue_inputs")]
LOOP = CLASS[CLASS.index("        best = ") : CLASS.index("        return")]
RIGHT = CLASS.replace(LOOP, "        best = torch.argsort(ids, stable=True)[:4].sort().values\n").replace(
    "torch.tensor(best)", "best"
)
WRONG = RIGHT.replace("[:4].sort().values", "[:4]")


def answer(request: Request) -> Answer:
    said = request.body["messages"]
    if "Break Code" not in said[-1]["content"] and len(said) < 3:
        return Answer("OK")
    return Answer(f"<Optimized Code>\n{WRONG if len(said) < 3 else RIGHT}</Optimized Code>")


def test_the_loop(tmp_path: Path) -> None:
    log = ROOT / "graphglue-repair-log.md"
    kept = log.read_text() if log.exists() else None
    try:
        with ModelServer(answer) as server:
            done = subprocess.run(
                [str(ROOT / "script" / "try-model"), server.url, "scripted"],
                env={**os.environ, "GRAPHGLUE_LSP": str(BIN / "graphglue-lsp"), "VIRTUAL_ENV": sys.prefix},
                capture_output=True,
                text=True,
                timeout=400,
                check=False,
            )
        assert done.returncode == 0, done.stderr
        assert "the model answers" in done.stdout and "=== user ===" in done.stdout
        assert "Rewritten by the model" in done.stdout and "captured whole" in done.stdout
        assert log.read_text().count("### Round") == 2
        assert (ROOT / "examples" / "ranking.py").read_text() == EXAMPLE
    finally:
        if kept is None:
            log.unlink(missing_ok=True)
