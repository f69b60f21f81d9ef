"""What a forked child does: one capture or one verification."""

import os
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
    sys.argv[:] = [file]  # what user code that reads its arguments at import finds
    try:
        if request["op"] == "capture":
            _capture(request, file, send)
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
    sys.stdout.flush()
    sys.stderr.flush()
    send({"op": "done", "status": status, "message": message})
    return 0


def _capture(request: dict[str, Any], file: str, send: Any) -> None:
    from graphglue_worker import capture, inputs, overlay

    capture.replace_compile()
    overlay.install({f["file"]: f["text"] for f in request.get("overlay") or []})
    wanted = request.get("entries")
    for entry in inputs.load(file, bool(request.get("train"))):
        if wanted is None or entry.name in wanted:
            name = entry.name

            def on_break(record: dict[str, Any], name: str = name) -> None:
                send({"op": "break", "entry": name, "break": record})

            send({"op": "entry", "entry": capture.run(entry, on_break, request.get("deadline_ms"))})
