"""Whatever user code does costs its own job, or its own entry, and nothing else.

Each fault names what happened; afterwards no process is left of it, and the same worker captures the next file.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time
from pathlib import Path

import pytest
from client import Closed, Job, Worker, landlock_abi
from conftest import Write

HEAD = "import atexit, builtins, ctypes, gc, os, resource, signal, sys, threading, time, torch\n"
CRASH = "ctypes.string_at(0)"
FAULT = """
def f(x):
    x = x + 1
    {fault}
    return x

def good(x):
    return x * 2

def graphglue_inputs():
    yield "f", f, (torch.ones(2),), {{}}
    yield "good", good, (torch.ones(2),), {{}}
"""
LOST = "closed or replaced the descriptors"
BLOCK = "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))"
HANG_IN_C = f"{BLOCK}; ctypes.PyDLL(None).sleep(600)"  # holding the GIL


def healthy(worker: Worker, write: Write) -> None:
    """Nothing is left of the job before, and the worker still captures."""
    assert worker.left_behind() == []
    path = write(HEAD + FAULT.format(fault="pass"), "healthy.py")
    job = worker.capture(path, entries=["good"])
    assert job.entry["status"] == "captured", (job.entry, job.done)
    assert worker.left_behind() == []


def run_fault(worker: Worker, write: Write, fault: str, **keys: object) -> Job:
    job = worker.capture(write(HEAD + FAULT.format(fault=fault)), **keys)
    healthy(worker, write)
    return job


def run_import(worker: Worker, write: Write, source: str, **keys: object) -> Job:
    """A fault in the file's import; its entries are healthy."""
    job = worker.capture(write(HEAD + source + "\n" + FAULT.format(fault="pass")), **keys)
    healthy(worker, write)
    return job


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (CRASH, "SIGSEGV"),
        ("os.abort()", "SIGABRT"),
        ("os.kill(os.getpid(), signal.SIGILL)", "SIGILL"),
        ("os._exit(0)", "exit code 0"),
        ("os._exit(3)", "exit code 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("os.killpg(0, signal.SIGKILL)", "SIGKILL"),
        ("os.closerange(3, 4096)", LOST),
        ("for fd in range(3, 64): os.dup2(1, fd)", LOST),
        ("resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); os.getpid()", "could not pass on"),
    ],
)
def test_a_dying_entry_loses_itself_only(worker: Worker, write: Write, fault: str, words: str) -> None:
    job = run_fault(worker, write, fault)
    assert job.entries["f"]["status"] == "crashed"
    assert words in job.entries["f"]["message"]
    assert job.entries["good"]["status"] == "captured"
    assert job.done["status"] == "ok"


@pytest.mark.parametrize(
    "fault",
    [
        "\n    while True: time.sleep(0.01)",
        HANG_IN_C,
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "\n    for n in range(1, 32): n in (9, 19) or signal.signal(n, signal.SIG_IGN)\n    while True: pass",
        "raise type('E', (Exception,), {'__str__': lambda self: time.sleep(600)})()",
    ],
    ids=["sleeps", "in C", "stopped", "ignores signals", "says it slowly"],
)
def test_a_hanging_entry_loses_itself_only(worker: Worker, write: Write, fault: str) -> None:
    job = run_fault(worker, write, fault, deadline_ms=1000)
    assert job.entries["f"]["status"] == "timeout"
    assert "1 s" in job.entries["f"]["message"]
    assert job.entries["good"]["status"] == "captured"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (CRASH, "SIGSEGV"),
        ("os._exit(5)", "exit code 5"),
        ("os.killpg(0, signal.SIGKILL)", "SIGKILL"),
        ("os.closerange(0, 4096)", LOST),
        ("for fd in range(3, 64): os.dup2(1, fd)", LOST),
        ("for fd in range(3, 64): os.dup2(os.open('/dev/null', os.O_RDWR), fd)\nwhile True: time.sleep(1)", LOST),
    ],
)
def test_dying_in_the_import_loses_the_job(worker: Worker, write: Write, source: str, words: str) -> None:
    done = run_import(worker, write, source).done
    assert done["status"] == "crashed"
    assert words in done["message"]


@pytest.mark.parametrize("target", ["1", "os.getpid() - 1", "-1"])
def test_the_zygote_cannot_be_killed(worker: Worker, write: Write, target: str) -> None:
    """Process 1 of the job's namespace takes no signal, the zygote is not in it, and -1 reaches only what is."""
    source = f"""
if os.getppid() != 1: sys.exit("no namespace")  # else this would end other people's processes
try: os.kill({target}, signal.SIGKILL)
except (ProcessLookupError, PermissionError): pass
"""
    job = run_import(worker, write, source)
    if "no namespace" in str(job.done["message"]):
        pytest.skip("this machine offers no namespaces")
    assert job.entries["f"]["status"] == "captured"


def test_an_entry_may_end_its_job(worker: Worker, write: Write) -> None:
    done = run_fault(worker, write, "os.kill(os.getppid(), signal.SIGKILL); time.sleep(600)").done
    assert (done["status"], "SIGKILL" in done["message"]) == ("crashed", True)


FRAME = """
import json, struct
def forge(token):
    body = json.dumps({"op": "entry", "entry": {"name": "forged", "status": "captured"}}).encode()
    for fd in range(3, 64):
        try: os.write(fd, struct.pack(">I", len(body)) + token + body)
        except OSError: pass
"""


@pytest.mark.parametrize("token", ["b''", "bytes(16)", "os.urandom(16)"])
def test_frames_cannot_be_forged(worker: Worker, write: Write, token: str) -> None:
    job = run_import(worker, write, FRAME + f"forge({token})")
    assert (job.done["status"], job.entries) == ("crashed", {})
    assert "wrote to the descriptor" in job.done["message"]


def test_half_a_frame_does_not_hold_the_worker(worker: Worker, write: Write) -> None:
    started = time.monotonic()
    source = "for fd in range(3, 64):\n    try: os.write(fd, b'\\0')\n    except OSError: pass\ntime.sleep(600)"
    job = worker.submit("capture", write(HEAD + source))
    frames = worker.frames(job)
    assert next(frames)["op"] == "started"
    worker.send({"op": "cancel", "id": job})
    assert next(frames)["status"] == "canceled"
    assert time.monotonic() - started < 30
    healthy(worker, write)


@pytest.mark.parametrize("source", ["while True: pass", HANG_IN_C, "os.kill(os.getpid(), signal.SIGSTOP)"])
def test_hang_in_the_import(worker: Worker, write: Write, source: str) -> None:
    done = run_import(worker, write, source, deadline_ms=300).done
    assert done["status"] == "timeout"
    assert "0.3 s" in done["message"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("sys.exit(4)", "sys.exit(4)"),
        ("sys.exit(type('E', (), {'__repr__': lambda self: 1 / 0})())", "sys.exit(<E>)"),
        ("raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})()", "E: <exception str() failed>"),
        ("raise ValueError('x' * (4 << 20))", "ValueError: xxx"),
        ("raise Exception('\\ud800')", "Exception: \\ud800"),
    ],
)
def test_what_the_import_raises_is_told(worker: Worker, write: Write, source: str, words: str) -> None:
    done = run_import(worker, write, source).done
    assert done["status"] == "import_error"
    assert words in done["message"]


@pytest.mark.parametrize(
    ("source", "words"),
    [("raise KeyboardInterrupt", "KeyboardInterrupt"), ("raise type('B', (BaseException,), {})('no')", "B: no")],
)
def test_what_is_no_exception_is_told(worker: Worker, write: Write, source: str, words: str) -> None:
    done = run_import(worker, write, source).done
    assert done["status"] == "error"
    assert words in done["message"]


def test_exit_in_an_entry(worker: Worker, write: Write) -> None:
    job = run_fault(worker, write, "sys.exit(4)")
    assert job.entries["f"]["status"] == "eager_error"
    assert "SystemExit: 4" in job.entries["f"]["message"]


def test_input_reads_nothing(worker: Worker, write: Write) -> None:
    assert "EOFError" in run_fault(worker, write, "input()").entries["f"]["message"]


def test_a_breakpoint_stops_nobody(worker: Worker, write: Write) -> None:
    entry = run_fault(worker, write, "breakpoint()").entries["f"]
    assert (entry["status"], [b["id"] for b in entry["breaks"]]) == ("breaks", ["GB0059"]), entry["message"]


@pytest.mark.parametrize(
    "source",
    [
        "os.umask(0o777); os.environ.clear(); os.chdir('/')",
        "import tempfile\nd = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)",
        "sys.stdout = sys.stderr = None",
        "sys.stdout = type('Out', (), {'write': lambda s, t: 1 / 0, 'flush': lambda s: time.sleep(600)})()",
        "sys.stdout.close(); sys.stderr.close()",
        "sys.excepthook = sys.unraisablehook = threading.excepthook = lambda *a: os.abort()",
        "gc.disable(); gc.set_threshold(1)",
        "atexit.register(time.sleep, 600); atexit.register(os.abort)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.alarm(600)",
        "sys.path.clear(); sys.path_hooks.clear(); sys.meta_path.clear()",
        "for name in list(sys.modules): name.startswith(('graphglue', 'json')) and sys.modules.pop(name)",
        "sys.argv = None; sys.settrace(lambda *a: None); sys.setprofile(lambda *a: None)",
        "import json, pickle\njson.dumps = pickle.dump = os.write = os.read = os.fork = None",
        "os.fork = os._exit = os.waitpid = os.getpid = time.monotonic = None",
        "builtins.print = builtins.repr = None",
    ],
)
def test_changed_surroundings_hurt_nobody(worker: Worker, write: Write, source: str) -> None:
    """At most the job is lost, with words: what was changed is gone with its process."""
    job = run_import(worker, write, source, deadline_ms=20_000)
    captured = [e["status"] for e in job.entries.values()] == ["captured", "captured"]
    assert captured or job.done["message"] or any(e["message"] for e in job.entries.values()), job.frames


@pytest.mark.parametrize(
    "limit",
    [
        "NOFILE, (3, 3)",
        "FSIZE, (0, 0)",
        "AS, (1 << 20, 1 << 20)",
        "CPU, (1, 1)",
        "NPROC, (0, 0)",
        "STACK, (4096, 4096)",
    ],
)
def test_lowered_limits_hurt_nobody(worker: Worker, write: Write, limit: str) -> None:
    job = run_import(worker, write, f"resource.setrlimit(resource.RLIMIT_{limit})", deadline_ms=20_000)
    captured = [e["status"] for e in job.entries.values()] == ["captured", "captured"]
    assert captured or job.done["message"] or any(e["message"] for e in job.entries.values()), job.frames


def test_memory_blow_up_in_an_entry(worker: Worker, write: Write) -> None:
    job = run_fault(worker, write, "hog = [bytearray(1 << 26) for _ in range(400)]", memory_bytes=1 << 29)
    assert job.entries["f"]["status"] in ("crashed", "eager_error")
    assert "memory" in job.entries["f"]["message"].lower()
    assert job.entries["good"]["status"] == "captured"


def test_memory_blow_up_in_a_tensor(worker: Worker, write: Write) -> None:
    job = run_fault(worker, write, "torch.zeros(1 << 34).fill_(1)", memory_bytes=1 << 29)
    assert job.entries["f"]["status"] == "eager_error"
    assert "memory" in job.entries["f"]["message"]


def test_memory_blow_up_in_the_import(worker: Worker, write: Write) -> None:
    done = run_import(worker, write, "hog = [bytearray(1 << 26) for _ in range(400)]", memory_bytes=1 << 29).done
    assert done["status"] in ("memory", "import_error")
    assert "memory" in done["message"].lower()


def test_memory_blow_up_in_many_grandchildren(worker: Worker, write: Write) -> None:
    """Each stays below the ceiling; together they do not."""
    source = """
for _ in range(8):
    if os.fork() == 0:
        os.setsid()
        hog = torch.ones(48 << 20, dtype=torch.int8)
        time.sleep(600)
time.sleep(600)
"""
    done = run_import(worker, write, source, memory_bytes=1 << 28).done
    assert done["status"] == "memory"
    assert "0.25 GiB" in done["message"]


# Bounded by itself, so that it is harmless where the product fails: 140 daemons, which is over what a job may have.
BOMB = """
for _ in range(140):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        time.sleep(120)
        os._exit(0)
time.sleep(120)
"""


def test_too_many_processes(worker: Worker, write: Write) -> None:
    done = run_import(worker, write, BOMB, deadline_ms=60_000).done
    assert done["status"] == "crashed"
    assert "more than 128 processes" in done["message"]


def drop_namespaces() -> None:
    """For a worker of its own: what root in a container lacks."""
    cap_sys_admin, pr_capbset_drop = 21, 24
    ctypes.CDLL(None).prctl(pr_capbset_drop, cap_sys_admin, 0, 0, 0)


@pytest.mark.skipif(os.getuid() != 0, reason="an ordinary user has namespaces, or has none to drop")
def test_without_namespaces(workspace: Path, write: Write) -> None:
    """What left its process group is found, and the zygote is out of reach where Landlock says so."""
    worker = Worker([str(workspace)], preexec_fn=drop_namespaces).start()
    try:
        done = run_import(worker, write, "if os.getppid() == 1: sys.exit('apart')\n" + BOMB, deadline_ms=60_000).done
        assert (done["status"], "more than 128 processes" in done["message"]) == ("crashed", True)
        leaves = DAEMON.format(leave="os.setsid(); os.fork() and os._exit(0)")
        job = run_import(worker, write, "r, w = os.pipe()\n" + leaves + "\nos.read(r, 1)")
        assert job.entries["f"]["status"] == "captured"
        if landlock_abi() >= 6:
            source = f"try: os.kill({worker.process.pid}, signal.SIGKILL)\nexcept PermissionError: sys.exit('refused')"
            assert "refused" in run_import(worker, write, source).done["message"]
    finally:
        assert worker.close() == 0


def test_threads_without_end(worker: Worker, write: Write) -> None:
    """The kernel refuses more than a job may have, where it can count: for a user, and since Linux 6.14 for a namespace."""
    source = """
ending, started = threading.Event(), 0
print("its own namespace:", os.getppid() == 1, flush=True)
try:
    for _ in range(1500):
        threading.Thread(target=ending.wait).start()
        started += 1
except RuntimeError as e:
    raise OSError(f"refused after {started}: {e}")
finally:
    ending.set()
"""
    done = run_import(worker, write, source).done
    release = tuple(map(int, os.uname().release.split("-")[0].split(".")[:2]))
    if os.getuid() == 0 and (release < (6, 14) or "namespace: True" not in done["output"]):
        pytest.skip("nothing counts the threads of root here")
    assert done["status"] == "import_error"
    assert "can't start new thread" in done["message"]


def test_flood_is_cut_and_does_not_block(worker: Worker, write: Write) -> None:
    job = run_fault(worker, write, "\n    for _ in range(20000): os.write(1, b'y' * 4096)")
    assert job.entries["f"]["status"] == "breaks"
    assert len(job.done["output"]) == 4096
    assert job.done["output"].endswith("y" * 1024)  # after a warning of Dynamo's


def test_endless_flood_ends_at_the_deadline(worker: Worker, write: Write) -> None:
    done = run_import(worker, write, "while True: os.write(2, b'z' * 65536)", deadline_ms=500).done
    assert (done["status"], len(done["output"])) == ("timeout", 4096)


def test_a_report_over_its_ceiling_is_told(worker: Worker, write: Write) -> None:
    source = "def graphglue_inputs(): yield 'n' * (3 << 20), abs, (torch.ones(2),), {}"
    job = worker.capture(write(HEAD + source))
    assert job.entry["status"] == "capture_error"
    assert "2 MiB are allowed" in job.entry["message"]
    healthy(worker, write)


def test_recursion_without_end(worker: Worker, write: Write) -> None:
    job = worker.capture(write(HEAD + "def f(x):\n    return f(x) + 1\n" + FAULT.partition("\n\n")[2].format()))
    assert job.entries["f"]["status"] == "eager_error"
    assert "RecursionError" in job.entries["f"]["message"]
    healthy(worker, write)


def test_recursion_past_the_stack(worker: Worker, write: Write) -> None:
    source = "sys.setrecursionlimit(1 << 30)\ndef deep(x): return sorted([x], key=deep)\ndeep(1)"
    done = run_import(worker, write, source, memory_bytes=1 << 30).done
    assert done["status"] in ("crashed", "memory", "import_error")
    assert "SIGSEGV" in done["message"] or "memory" in done["message"].lower()


def test_a_repr_without_end(worker: Worker, write: Write) -> None:
    source = "class R:\n    def __repr__(self): return repr([self])\nraise ValueError(R())"
    done = run_import(worker, write, source).done
    assert done["status"] == "import_error"
    assert "ValueError" in done["message"]


def test_clearing_all_modules(worker: Worker, write: Write) -> None:
    job = run_import(worker, write, "sys.modules.clear()")
    captured = [e["status"] for e in job.entries.values()] == ["captured", "captured"]
    assert captured or job.done["message"] or any(e["message"] for e in job.entries.values()), job.frames


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pid: int, seconds: float = 20) -> None:
    """Until somebody else's child has ended."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([fd], [], [], seconds)[0] or not alive(pid), f"process {pid} is still there"
    os.close(fd)


DAEMON = """
if os.fork() == 0:
    {leave}
    os.write(w, b'1')
    time.sleep(600)
"""


@pytest.mark.parametrize("leave", ["pass", "os.setsid()", "os.setsid(); os.fork() and os._exit(0)"])
@pytest.mark.parametrize("where", ["import", "entry"])
def test_what_a_job_leaves_behind_is_ended(worker: Worker, write: Write, leave: str, where: str) -> None:
    daemon = "r, w = os.pipe()\n" + DAEMON.format(leave=leave) + "\nos.read(r, 1)\n"
    if where == "import":
        job = run_import(worker, write, daemon)
    else:
        job = run_fault(worker, write, daemon.replace("\n", "\n    "))
    assert job.done["status"] == "ok"
    assert job.entries["good"]["status"] == "captured"


@pytest.mark.parametrize("how", ["killed", "closed"])
def test_jobs_end_with_their_worker(write: Write, tmp_path: Path, how: str) -> None:
    note = tmp_path / "note"
    os.mkfifo(note)
    fault = f"""
    with open({str(note)!r}, "w") as out: out.write("in the entry")
    time.sleep(600)"""
    worker = Worker().start()
    frames = worker.frames(worker.submit("capture", write(HEAD + FAULT.format(fault=fault))))
    child = next(frames)["pid"]
    assert note.read_text() == "in the entry"
    left = worker.left_behind()
    assert child in left
    if how == "killed":
        worker.process.send_signal(signal.SIGKILL)
        with pytest.raises((Closed, ConnectionError)):
            list(frames)
    worker.close()
    for pid in left:
        wait_until_gone(pid)
    assert worker.left_behind() == []


def test_threads_started_by_the_import(worker: Worker, write: Write) -> None:
    source = """
import threading, queue
asked, answered = queue.Queue(), queue.Queue()
def serve():
    while True: answered.put(asked.get() * 2)
threading.Thread(target=serve, daemon=True).start()
def f(x):
    asked.put(3)
    return x * answered.get()
def graphglue_inputs():
    yield "f", f, (torch.ones(2),), {}
"""
    job = worker.capture(write(HEAD + source), deadline_ms=20000)
    assert job.entry["status"] == "breaks", job.entry["message"]
    healthy(worker, write)


def test_a_thread_that_never_ends(worker: Worker, write: Write) -> None:
    source = "threading.Thread(target=time.sleep, args=(600,)).start()"
    assert run_import(worker, write, source).entries["good"]["status"] == "captured"


def test_breaks_are_kept_when_only_the_eager_run_is_lost(worker: Worker, write: Write) -> None:
    job = worker.capture(
        write("""
            import os
            import torch

            def f(x):
                print("x")
                if not torch.compiler.is_compiling() and x.shape[0] == 4:
                    os._exit(3)
                return x + 1

            def graphglue_inputs():
                yield "f", f, (torch.ones(4),), {}
        """)
    )
    assert job.entry["status"] == "crashed" and "exit code 3" in job.entry["message"]
    assert [b["id"] for b in job.entry["breaks"]][:1] == ["GB0059"]
