"""What the worker looks for inside torch is there in older versions: their sources are read, not run.

The wheels of another platform hold the same Python files and are small.  Only `torch/_dynamo` is kept, in the cache folder
(`$XDG_CACHE_HOME` or ~/.cache, graphglue/dynamo-sources), so that this is one download per version.  GRAPHGLUE_TORCH_VERSIONS="2.6.0 2.9.1"
reads others than those below, one for each place where Dynamo logs its breaks.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "analysis" / "worker"))

from graphglue_worker import facts, hooks, positions, records, users_compile  # noqa: E402 - after the path is set

VERSIONS = (os.environ.get("GRAPHGLUE_TORCH_VERSIONS") or "2.4.1 2.8.0 2.10.0").split()
# The first versions where a break is logged by …
COMMITS = {
    (2, 4): "compile_subgraph",
    (2, 6): "function",
    (2, 10): "method with user_stack",
    (2, 11): "method with exc",
}
REGISTRY_SINCE, GUARD_PROBE_SINCE = (2, 8), (2, 6)
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphglue" / "dynamo-sources"
PLATFORMS = ("macosx_11_0_arm64", "macosx_14_0_arm64")


def fetch(version: str) -> Path:
    """The folder that holds `torch/_dynamo` of a version.  Skips the test when it cannot be had."""
    folder = CACHE / version
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--python-version",
            "3.11",
        ]
        command += [a for p in PLATFORMS for a in ("--platform", p)] + ["--dest", scratch, f"torch=={version}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip(f"torch {version} could not be downloaded within 180 s")
        wheels = list(Path(scratch).glob("*.whl"))
        if not wheels:
            pytest.skip(
                f"torch {version} could not be downloaded: {done.stderr.strip().splitlines()[-1:] or done.returncode}"
            )
        with zipfile.ZipFile(wheels[0]) as wheel:
            wanted = [n for n in wheel.namelist() if n.startswith("torch/_dynamo/") and n.endswith((".py", ".json"))]
            wheel.extractall(Path(scratch) / "sources", wanted)
        try:
            os.rename(Path(scratch) / "sources", folder)
        except OSError:
            assert folder.is_dir()  # another run was faster
    return folder


class Source:
    """The modules of one version's torch._dynamo, parsed."""

    def __init__(self, version: str) -> None:
        self.version = tuple(int(n) for n in version.split(".")[:2])
        self.folder = fetch(version) / "torch" / "_dynamo"

    @functools.cached_property
    def variables(self) -> dict[str, ast.ClassDef]:
        """Classes of torch._dynamo.variables by name."""
        modules = [ast.parse(p.read_text()) for p in (self.folder / "variables").glob("*.py")]
        return {n.name: n for m in modules for n in ast.walk(m) if isinstance(n, ast.ClassDef)}

    @functools.cache  # noqa: B019 - lives as long as the tests
    def module(self, name: str) -> ast.Module:
        return ast.parse((self.folder / f"{name}.py").read_text())

    def text(self, name: str) -> str:
        return (self.folder / f"{name}.py").read_text()

    def top(self, module: str, name: str) -> ast.AST | None:
        """A class, function, import or assignment of a module by name."""
        for node in self.module(module).body:
            if name in names_bound_by(node):
                return node
        return None

    def method(self, module: str, cls: str, name: str) -> ast.FunctionDef | None:
        owner = self.top(module, cls)
        assert isinstance(owner, ast.ClassDef), f"no class {cls} in {module}"
        return next((n for n in owner.body if isinstance(n, ast.FunctionDef) and n.name == name), None)


def names_bound_by(node: ast.AST) -> set[str]:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {a.asname or a.name for a in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {t.id for t in targets if isinstance(t, ast.Name)}


def parameters(function: ast.FunctionDef) -> list[str]:
    return [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def attributes(node: ast.AST) -> set[str]:
    """Names a class declares, or sets on something called self."""
    found = {n for child in ast.walk(node) for n in names_bound_by(child)}
    stores = (n for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return found | {n.attr for n in stores if isinstance(n.value, ast.Name)}


def calls(node: ast.AST) -> Iterator[str]:
    for call in (n for n in ast.walk(node) if isinstance(n, ast.Call)):
        yield call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


@pytest.fixture(scope="module", params=VERSIONS)
def source(request: pytest.FixtureRequest) -> Source:
    return Source(request.param)


def since(versions: dict[tuple[int, int], str], version: tuple[int, ...]) -> str:
    return versions[max(v for v in versions if v <= version)]


def test_breaks_are_logged_where_we_listen(source: Source) -> None:
    method = source.method("symbolic_convert", "InstructionTranslatorBase", "log_graph_break")
    function = source.top("symbolic_convert", "log_graph_break")
    found = "compile_subgraph"
    if method is not None:
        found = "method with exc" if "exc" in parameters(method) else "method with user_stack"
    elif isinstance(function, ast.FunctionDef):
        found = "function"
        assert "reason" in parameters(function)
    assert found == since(COMMITS, source.version)


def test_splits_that_are_not_logged_are_heard_where_the_graph_ends(source: Source) -> None:
    step = source.method("symbolic_convert", "InstructionTranslatorBase", "step")
    assert step is not None
    if "log_graph_break" in calls(step):
        return
    assert source.method("output_graph", "OutputGraph", "compile_subgraph") is not None
    reason = source.top("output_graph", "GraphCompileReason")
    assert reason is not None
    assert {"reason", "graph_break"} <= attributes(reason)
    text = source.text("symbolic_convert")
    assert 'GraphCompileReason("step_unsupported"' in text
    assert 'f"generic_jump ' in text


def test_the_functions_that_split_have_the_names_we_look_for(source: Source) -> None:
    functions = {n.name for n in ast.walk(source.module("symbolic_convert")) if isinstance(n, ast.FunctionDef)}
    assert set(hooks._HANDLERS) <= functions
    assert {"step", "run"} <= functions


def test_loops_are_told_in_the_words_we_look_for(source: Source) -> None:
    text = source.text("symbolic_convert")
    if source.version >= (2, 11):
        assert "raise_loop_graph_break" in text
    else:
        assert "there is a graph break in a for/while loop" in text + source.text("exc")
        assert "raise exc.SkipFrame(msg) from excp" in text


def test_frames_are_converted_where_we_listen(source: Source) -> None:
    call = source.method("convert_frame", "ConvertFrameAssert", "__call__")
    assert call is not None
    assert parameters(call)[:2] == ["self", "frame"]
    assert any(source.top("convert_frame", name) is not None for name in hooks._REASONS)
    assert "convert_frame.py" in source.text("convert_frame"), "it finds its own frames by the name of the file"


def test_what_a_translator_has(source: Source) -> None:
    base = source.top("symbolic_convert", "InstructionTranslatorBase")
    inlining = source.top("symbolic_convert", "InliningInstructionTranslator")
    assert base is not None and inlining is not None
    wanted = {
        "f_code",
        "instructions",
        "instruction_pointer",
        "current_instruction",
        "symbolic_locals",
        "output",
        "lineno",
    }
    assert wanted <= attributes(base)
    assert "parent" in attributes(base) | attributes(inlining)
    assert "positions" in attributes(source.top("bytecode_transformation", "Instruction") or base)


def test_exceptions(source: Source) -> None:
    unsupported = source.top("exc", "Unsupported")
    assert unsupported is not None
    assert "msg" in attributes(unsupported)
    assert source.top("exc", "SkipFrame") is not None
    assert source.top("exc", "TorchDynamoException") is not None


def test_resume_functions(source: Source) -> None:
    text = source.text("resume_execution")
    assert f'"{positions.RESUME_PREFIX.rstrip("_")}' in text
    cache = source.top("resume_execution", "ContinueExecutionCache")
    assert cache is not None
    assert "generated_code_metadata" in attributes(cache)
    metadata = source.top("resume_execution", "ResumeFunctionMetadata")
    assert metadata is not None
    assert "code" in attributes(metadata)


def test_registry_by_type(source: Source) -> None:
    path = source.folder / "graph_break_registry.json"
    assert path.exists() == (source.version >= REGISTRY_SINCE)
    if not path.exists():
        return
    ids = {row["Gb_type"]: gb_id for gb_id, rows in json.loads(path.read_text()).items() for row in rows}
    ids = {**ids, **records._MISSING}
    assert ids["Data-dependent branching"] == "GB0170"
    assert ids["Graph break under GenericContextWrappingVariable"] == records._MANAGER_ID
    assert ids["Failed to trace builtin operator"] == "GB0059"
    assert {gb_id for words, gb_id in ids.items() if records._LIMITS.search(words)} == {records.LIMIT_ID}


def test_the_limit_is_told_in_the_words_we_look_for(source: Source) -> None:
    text = source.text("convert_frame")
    said = re.findall(r'gb_type="([^"]*limit[^"]*)"', text)
    if not said:  # the name of the setting, filled in
        assert 'unimplemented(f"{limit_type} reached")' in text
        limits = re.findall(r'return True, "(\w+)"', source.text("cache_size"))
        said = [f"{name} reached" for name in limits]
    assert said
    assert all(records._LIMITS.search(words) for words in said), said


def test_the_probe_of_guards(source: Source) -> None:
    found = "profile_guard_manager" in source.text("guards")
    assert found == (source.version >= GUARD_PROBE_SINCE)


def test_settings(source: Source) -> None:
    names = attributes(source.module("config"))
    assert names & {"recompile_limit", "cache_size_limit"}


def test_what_facts_are_read_from(source: Source) -> None:
    """Every class and every attribute of Dynamo's variables that facts.py names."""
    tree = ast.parse(Path(facts.__file__).read_text())
    strings = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    classes = {s for s in strings if re.fullmatch(r"[A-Z]\w+(Variable|Tracker)", s)}
    assert len(classes) > 8
    renamed = {"CellVariable" if source.version < (2, 6) else "EnumVariable" if source.version >= (2, 12) else ""}
    assert classes - set(source.variables) <= renamed
    owners = {
        "raw_value": "UnspecializedPythonVariable",
        "sym_num": "SymNodeVariable",
        "value": "ConstantVariable",
        "proxy": "TensorVariable",
    }
    for attribute, cls in owners.items():
        assert f'"{attribute}"' in Path(facts.__file__).read_text()
        assert attribute in attributes(source.variables[cls]), cls


def test_how_a_callable_is_compiled(source: Source) -> None:
    optimize = source.top("eval_frame", "_optimize")
    assert isinstance(optimize, ast.FunctionDef)
    assert {"backend", "nopython", "dynamic"} <= set(parameters(optimize))
    assert users_compile._RESPECTED[0] == "dynamic"
    assert "optimize" in {name for node in source.module("__init__").body for name in names_bound_by(node)}
    assert source.top("trace_rules", "get_torch_obj_rule_map") is not None
    handlers = source.variables["TorchInGraphFunctionVariable"]
    assert "_get_handlers" in {n.name for n in handlers.body if isinstance(n, ast.FunctionDef)}
