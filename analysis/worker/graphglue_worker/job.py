"""What a forked child does: one capture or one verification."""

import os
import signal
import sys
import traceback
from typing import Any

from graphglue_worker import wire


def run(request: dict[str, Any], workspaces: list[str], fd: int) -> int:
    """Run the job and send its frames, `done` last.  Returns the child's exit status."""
    from graphglue_worker import inputs, positions

    def send(frame: dict[str, Any]) -> None:
        wire.send(fd, {**frame, "id": request["id"]})

    status, message = "ok", None
    file = os.path.abspath(request["file"])
    positions.set_roots([*workspaces, os.path.dirname(file)])
    try:
        if request["op"] == "capture":
            _capture(request, file, workspaces, send)
        else:
            from graphglue_worker import verify

            verify.run(request, workspaces, send)
    except inputs.ImportFailure as e:
        status, message = "import_error", str(e)
    except MemoryError:
        status, message = "memory", "the job ran into its memory ceiling"
    except SystemExit as e:
        status, message = "crashed", f"your code called sys.exit({e.code!r})"
    except BaseException as e:  # noqa: BLE001 - whatever user code raises must end as a frame
        status, message = "error", "".join(traceback.format_exception_only(type(e), e)).strip()
        traceback.print_exc(file=sys.stderr)
    send({"op": "done", "status": status, "message": message})
    return 0


def _capture(request: dict[str, Any], file: str, workspaces: list[str], send: Any) -> None:
    from graphglue_worker import capture, inputs, overlay

    capture.replace_compile()
    overlay.install({f["file"]: f["text"] for f in request.get("overlay") or []})
    wanted = request.get("entries")
    for entry in inputs.load(file, bool(request.get("train"))):
        if wanted is None or entry.name in wanted:
            send({"op": "entry", "entry": capture_in_fork(entry, send, request.get("deadline_ms"))})


def capture_in_fork(entry: Any, send: Any, deadline_ms: int | None) -> dict[str, Any]:
    """Capture in a fork of its own: earlier runs change what Dynamo traces, and a crash must lose this entry only."""
    from graphglue_worker import capture

    def on_break(record: dict[str, Any]) -> None:
        send({"op": "break", "entry": entry.name, "break": record})

    def failed(status: str, message: str) -> dict[str, Any]:
        return {**capture.blank(entry), "status": status, "message": message}

    return forked(lambda: capture.run(entry, on_break), failed, deadline_ms)


def forked(work: Any, failed: Any, deadline_ms: int | None) -> Any:
    """Run `work` in a fork and return its (JSON) result, or `failed(status, plain words)` when the process did not give one."""
    from graphglue_worker.zygote import DEFAULT_DEADLINE_MS, describe_end

    deadline_ms = deadline_ms or DEFAULT_DEADLINE_MS
    r, w = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            os.close(r)
            wire.send(w, {"result": work()})
            sys.stdout.flush()
            sys.stderr.flush()
            code = 0
        except MemoryError:
            code = 71
        except BaseException:  # noqa: BLE001 - the parent tells what happened
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(code)
    os.close(w)
    try:
        frame = wire.recv(r, deadline_ms)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return failed("timeout", f"stopped after {deadline_ms / 1000:g} s, its deadline")
    except (EOFError, ValueError, OSError):
        frame = None
    finally:
        os.close(r)
    _, status = os.waitpid(pid, 0)
    if frame is not None:
        return frame["result"]
    return failed("crashed", "ran out of memory" if status >> 8 == 71 else describe_end(status))
