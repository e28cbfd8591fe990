"""Runs one command of a student and ends it when it uses too much. A process of its own, between grader and sandbox.

Started as a script by `bubblewrap.command` with `python -I -S`: it uses the standard library only, and nothing in the
current folder can shadow it. It ends when the grader ends, so that no student's process outlives a grader that was
killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STOPPED = 124
"""Exit code when the command was ended from here; the reason is the last line on stderr and in the report."""

INTERVAL = 0.1
"""Seconds between two looks."""

FIRST_UID = 2_000_000_000
"""User ids of sandboxes start here, far from those of people and of other containers."""
NOBODY = 65534
MOST_SOCKETS = 16


def main(arguments: list[str]) -> int:
    """Run `arguments[1:]` as the JSON in `arguments[0]` says. Returns the exit code."""
    job = json.loads(arguments[0])
    _offer_to_the_oom_killer()
    with _opened(job["copies"]) as files:
        # A stopped grader closes the pipes it gave to us, so the command gets stdin and stdout as they are.
        child = subprocess.Popen(
            _command(job, files, arguments[1:]),
            env=job["environment"],
            pass_fds=list(files),
            preexec_fn=None if job["box"] else lambda: _limit(job["limits"]),
        )
    reason = _watch(child, job)
    if reason is None:
        return child.returncode if child.returncode >= 0 else 128 - child.returncode
    if job["report"]:
        Path(job["report"]).write_text(reason, encoding="utf-8")
    print(reason, file=sys.stderr)
    return STOPPED


def _command(job: dict[str, Any], files: dict[int, str], argv: list[str]) -> list[str]:
    if not job["box"]:
        return argv
    copies = [part for fd, place in files.items() for part in ("--perms", "0644", "--file", str(fd), place)]
    user: list[str] = []
    if os.getuid() == 0:
        # RLIMIT_NPROC counts all processes of a user on this machine: every sandbox gets a user of its own.
        uid = str(_free_uid())
        user = ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", "--no-new-privs"]
        user += ["--inh-caps=-all", "--bounding-set=-all", "--", *job["lock"]]
    return [*job["box"], *copies, *job["seal"], "--", *user, *job["limits"], "--", *argv]


def _free_uid() -> int:
    """A user id that no other process has; nobody's where this container has only few ids."""
    wanted = FIRST_UID + os.getpid()
    for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines():
        first, _, count = map(int, line.split())
        if first <= wanted < first + count:
            return wanted
    return NOBODY


@contextlib.contextmanager
def _opened(copies: list[list[str]]) -> Iterator[dict[int, str]]:
    """Files that the sandbox gets as copies, open for reading: descriptor -> place in the sandbox."""
    files: dict[int, str] = {}
    try:
        for source, place in copies:
            # Another process may have replaced a cache since it was looked for.
            with contextlib.suppress(FileNotFoundError):
                files[os.open(source, os.O_RDONLY)] = place
        yield files
    finally:
        for fd in files:
            os.close(fd)


def _offer_to_the_oom_killer() -> None:
    """When the machine runs out of memory all the same, Linux ends a student's process first."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _limit(limits: dict[str, int]) -> None:
    """Limits of this process where there is no sandbox, as far as the platform has them."""
    import resource

    for name, most in limits.items():
        # A system that lacks a limit, or has a lower one already, keeps its own.
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (most, most))


def _watch(child: subprocess.Popen[bytes], job: dict[str, Any]) -> str | None:
    """Wait for the end of the command. Returns None, or why it was ended from here."""
    parent, deadline = os.getppid(), time.monotonic() + job["seconds"]
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(INTERVAL)
            return None
        tree = list(_descendants(child.pid))
        reason = "was stopped: the grader itself ended" if os.getppid() != parent else ""
        if time.monotonic() > deadline:
            reason = f"took longer than {job['seconds']:g} s and was stopped"
        elif sum(map(_resident, tree)) > job["memory"]:
            reason = f"used more than {job['memory'] / (1 << 30):g} GiB of memory and was stopped"
        elif job["sockets"] and not _only_sockets(Path(job["sockets"])):
            reason = "wrote files where only its connection to the grader belongs and was stopped"
        if reason:
            # The end of bwrap ends everything in the sandbox; without one, this ends what can be seen.
            for pid in [child.pid, *([] if job["box"] else tree)]:
                with contextlib.suppress(OSError):
                    os.kill(pid, 9)
            child.wait()
            return reason


def _descendants(pid: int) -> Iterator[int]:
    """`pid` and all that it started; only `pid` where there is no /proc."""
    yield pid
    # Processes come and go while we read.
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                for child in (task / "children").read_text(encoding="ascii").split():
                    yield from _descendants(int(child))


def _resident(pid: int) -> int:
    """Memory that is a process's own or shared between processes (not files), bytes; 0 where there is no /proc."""
    kib = 0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("RssAnon:", "RssShmem:")):
                kib += int(line.split()[1])
    return kib << 10


def _only_sockets(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        paths = [path for _, path in zip(range(MOST_SOCKETS + 1), folder.iterdir(), strict=False)]
        return len(paths) <= MOST_SOCKETS and all(path.is_socket() and not path.is_symlink() for path in paths)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
