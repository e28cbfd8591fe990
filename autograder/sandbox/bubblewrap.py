"""A place where a student's program can do no harm: its own processes, files, users and no network (bubblewrap).

Inside there are the system, Python with its packages, and `course`, all read-only; of this package only
`in_kernel/autograder`, which knows no seed. Everything that can be written is private, limited and gone afterwards.
What happens to the student's own program in there (its kernel, its outputs) is not protected from that program.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from autograder.sandbox import supervisor
from autograder.sandbox.limits import MIB, Limits
from autograder.sandbox.warm import warm_files

__all__ = ["IN_KERNEL", "UNPROTECTED", "available", "command"]

UNPROTECTED = """Without the sandbox a submission can, while it is graded:
- read and change every file that you can, the gradebook and other students' work among them;
- use the network, for example to send away what it read;
- read the hidden seeds;
- leave programs running, and fill the disk.
Limits for time, memory, open files and the size of one file hold as far as this system has them.
Grade only what people you trust have written."""
"""What a person must know who grades without the sandbox."""

IN_KERNEL = Path(__file__).resolve().parent / "in_kernel"
"""Folder that a student's process imports `autograder` from."""

WORK = "/tmp/work"
HOME = "/tmp/home"
OLDEST = (0, 8)
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/nix/store")
SETTINGS = ("alternatives", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime")
"""Of /etc only these: fonts, the time zone, and where libraries lie."""


_LOCK = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--disable-userns", "--"]
"""In a user namespace of its own, a program could mount file systems that no limit counts: this ends that."""


def command(
    argv: Sequence[str],
    *,
    limits: Limits,
    sandboxed: bool = True,
    extra_read: Sequence[Path] = (),
    hide: Sequence[Path] = (),
    copies: Sequence[Path] = (),
    warm: bool = True,
    sockets: Path | None = None,
    report: Path | None = None,
) -> list[str]:
    """The command line that runs `argv` in the sandbox, in an empty writable folder, with a bare environment.

    Start it with any environment and folder; stdin, stdout, stderr and the exit code are those of `argv`. When it has
    to be ended the exit code is `supervisor.STOPPED`, and the reason is the last line of stderr and the content of
    `report`.
    extra_read: files and folders that can be read in there at the same path. hide: folders that are empty in there.
    copies: files that the sandbox's user gets as a readable copy at the same path, whatever their mode. warm: give it
    the caches of numba and matplotlib. sockets: a folder for Unix sockets, shared both ways.
    sandboxed=False: no walls, only the limits that this system has (see UNPROTECTED).
    """
    limits_of_process = {
        "RLIMIT_AS": limits.memory_bytes,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": limits.open_files,
        # A second net under the supervisor, which is asked first and can say why.
        "RLIMIT_CPU": 2 * limits.notebook_seconds + 10,
        "RLIMIT_CORE": 0,
    }
    names = {"RLIMIT_AS": "as", "RLIMIT_FSIZE": "fsize", "RLIMIT_NOFILE": "nofile"}
    names |= {"RLIMIT_CPU": "cpu", "RLIMIT_CORE": "core"}
    prlimit = ["prlimit", f"--nproc={limits.processes}"]
    prlimit += [f"--{names[name]}={most}" for name, most in limits_of_process.items()]
    cached = warm_files(Path(_course()), HOME) if sandboxed and warm else []
    job = {
        "box": _box(limits, extra_read, hide, [place for _, place in cached], sockets) if sandboxed else [],
        "copies": [*cached, *([str(path)] * 2 for path in copies)] if sandboxed else [],
        "seal": ["--remount-ro", "/", "--remount-ro", "/dev", "--chdir", WORK],
        "lock": _LOCK if sandboxed and _may_make_namespaces() else [],
        "limits": prlimit if sandboxed else limits_of_process,
        "environment": _environment(limits, sandboxed),
        "seconds": limits.notebook_seconds,
        "memory": limits.memory_bytes,
        "sockets": str(sockets) if sockets else None,
        "report": str(report) if report else None,
    }
    return [sys.executable, "-I", "-S", supervisor.__file__, json.dumps(job), *argv]


@cache
def available() -> str:
    """Why the sandbox does not work here, for an instructor; "" when it does. It is tried, once in a process."""
    if not sys.platform.startswith("linux"):
        return f"the sandbox needs Linux, and this is {sys.platform}: grade in a Linux machine, a container or WSL 2"
    for program, package in (("bwrap", "bubblewrap"), ("setpriv", "util-linux"), ("prlimit", "util-linux")):
        if shutil.which(program) is None:
            return f"the program `{program}` is not installed: install the package {package}"
    said = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=False).stdout
    version = tuple(map(int, re.findall(r"\d+", said)[:2]))
    if version < OLDEST:
        return f"bubblewrap {'.'.join(map(str, OLDEST))} or newer is needed, and this is {said.strip() or 'unknown'}"
    tried = subprocess.run(
        command([sys.executable, "-c", "import course, autograder.hidden"], limits=Limits()),
        capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if tried.returncode == 0:
        return ""
    last = (tried.stderr.strip().splitlines() or [f"exit code {tried.returncode}"])[-1]
    hint = ""
    if "amespace" in last or "uid map" in last or "ermission" in last or "not permitted" in last:
        hint = (
            ". This system may not allow user namespaces (kernel.unprivileged_userns_clone, "
            "kernel.apparmor_restrict_unprivileged_userns, or a container without the right to make them)"
        )
    return f"bubblewrap is installed but does not start: {last}{hint}"


def _box(
    limits: Limits, extra_read: Sequence[Path], hide: Sequence[Path], cached: Iterable[str], sockets: Path | None
) -> list[str]:
    """bwrap with all it has to be told before copies are made and the root is sealed."""
    scratch = ["--size", str(limits.scratch_bytes), "--perms", "1777", "--tmpfs"]
    # One entry for each place, so that outer places come before what lies in them.
    places: dict[str, list[str]] = {}
    for path in SYSTEM:
        if Path(path).is_symlink():
            places[path] = ["--symlink", str(Path(path).readlink()), path]
        elif Path(path).is_dir():
            places[path] = ["--ro-bind", path, path]
    readable = [*(f"/etc/{name}" for name in SETTINGS), *_python_folders(), *map(str, extra_read)]
    readable += [_course(), str(IN_KERNEL)]
    places |= {path: ["--ro-bind-try", path, path] for path in readable if not _within(path, "/usr")}
    root = str(IN_KERNEL.parents[2])
    if any(_within(root, place) for place in places):
        # The course lies in a folder that is shown: hide it, then show the parts that may be seen.
        places[root] = ["--size", str(MIB), "--tmpfs", root]
        places |= {path: ["--ro-bind-try", path, path] for path in readable if _within(path, root)}
    places |= {"/proc": ["--proc", "/proc"], "/dev": ["--dev", "/dev"]}
    folders = {str(Path(path).parent) for path in cached}
    at_home = {path for path in folders if _within(path, HOME)}
    places |= {path: [*scratch, path] for path in {"/tmp", "/dev/shm"} | (folders - at_home)}
    places |= {path: ["--perms", "0777", "--dir", path] for path in {HOME, f"{HOME}/.cache", WORK} | at_home}
    places |= {str(path): ["--size", str(MIB), "--perms", "0755", "--tmpfs", str(path)] for path in hide}
    if sockets:
        places[str(sockets)] = ["--bind", str(sockets), str(sockets)]
    # bwrap makes folders on the way for root alone.
    on_the_way = {str(parent) for path in places for parent in Path(path).parents}
    places = {**{path: ["--perms", "0755", "--dir", path] for path in on_the_way}, **places}
    box = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    box += ["--die-with-parent", "--new-session", "--hostname", "grading"]
    if os.getuid() == 0:
        box += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
    else:
        box += ["--unshare-user", "--disable-userns", "--uid", str(supervisor.NOBODY), "--gid", str(supervisor.NOBODY)]
    return box + [part for path in sorted(places, key=lambda p: Path(p).parts) for part in places[path]]


@cache
def _may_make_namespaces() -> bool:
    """Whether root's sandbox has to forbid user namespaces: bwrap does it by itself for everybody but root."""
    if os.getuid() != 0:
        return False
    user = ["setpriv", "--reuid", str(supervisor.NOBODY), "--clear-groups", "--inh-caps=-all", "--no-new-privs", "--"]
    return subprocess.run([*user, "unshare", "--user", "true"], capture_output=True, check=False).returncode == 0


def _within(path: str, folder: str) -> bool:
    return Path(path).is_relative_to(folder)


def _python_folders() -> list[str]:
    """Where this Python and its packages lie, as they are called and as they are."""
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, sysconfig.get_path("purelib")}
    if site.ENABLE_USER_SITE and site.getusersitepackages() in sys.path:
        folders.add(site.getusersitepackages())
    folders |= {os.path.realpath(folder) for folder in folders}
    return sorted(f for f in folders if not any(_within(f, other) for other in folders - {f}))


@cache
def _course() -> str:
    """The folder of the package `course`; found without importing it."""
    spec = importlib.util.find_spec("course")
    if spec is None or spec.origin is None:
        raise ImportError("the package `course` is not installed here: run `make grade`, or see autograder/README.md")
    return str(Path(spec.origin).resolve().parent)


def _environment(limits: Limits, sandboxed: bool) -> dict[str, str]:
    """All that the student's process gets: nothing of the grader's own environment, which may hold secrets."""
    program = str(Path(sys.executable).parent)
    bare = {
        "PATH": os.pathsep.join([program, "/usr/local/bin", "/usr/bin", "/bin"]),
        "PYTHONPATH": os.pathsep.join([str(IN_KERNEL), str(Path(_course()).parent)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        # Python's debugger warns on stderr about frozen modules, once per kernel.
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "LANG": "C.UTF-8",
        "GRADER_OUTPUT_CHARACTERS": str(limits.output_bytes // 2),
        # Kernels run side by side: threads of one would only take time from the others, and count as processes.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
    }
    if sandboxed:
        mpl = f"{HOME}/matplotlib"
        return {**bare, "HOME": HOME, "USER": "student", "LOGNAME": "student", "MPLCONFIGDIR": mpl}
    # Programs on Windows do not start without some of these; none holds a secret.
    needed = (
        "HOME",
        "USER",
        "LOGNAME",
        "TMPDIR",
        "TEMP",
        "TMP",
        "SYSTEMROOT",
        "USERPROFILE",
        "APPDATA",
        "LOCALAPPDATA",
    )
    return {**{name: os.environ[name] for name in needed if name in os.environ}, **bare}
