"""The sandbox against real attacks: what a program in it can reach, use up, or leave behind."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autograder.hidden import _SEEDS
from autograder.sandbox import bubblewrap, supervisor
from autograder.sandbox.bubblewrap import IN_KERNEL, available, command
from autograder.sandbox.execute import Executed
from autograder.sandbox.kernel import private_folder
from autograder.sandbox.limits import Limits
from autograder.settings import ROOT
from tests.support.sandbox_runs import SMALL, eventually, needs_sandbox, notebook, processes_with, run, shown

# ---- what can be reached -----------------------------------------------------------------------------------

LOOK = r"""
import json, os, socket
def tried(action):
    try:
        return repr(action())
    except BaseException as error:
        return f"{type(error).__name__}"
found = {}
for place in PLACES:
    found[place] = tried(lambda: os.listdir(place) if os.path.isdir(place) else open(place).read())
for place in WRITES:
    found["write " + place] = tried(lambda: open(place, "w").write("x"))
found["tcp"] = tried(lambda: socket.create_connection(("127.0.0.1", PORT), 2))
found["unix"] = tried(lambda: socket.socket(socket.AF_UNIX).connect(UNIX))
found["dns"] = tried(lambda: socket.getaddrinfo("example.org", 80))
found["kill"] = tried(lambda: os.kill(GRADER, 9))
found["kill init"] = tried(lambda: os.kill(1, 9))
found["root"] = tried(lambda: os.setuid(0))
found["mount"] = str(os.system("mount -t tmpfs none /tmp/work 2>/dev/null") != 0)
found["uid"] = os.getuid()
found["pids"] = len([name for name in os.listdir("/proc") if name.isdigit()])
found["environment"] = dict(os.environ)
found["status"] = open("/proc/self/status").read()
found["cwd"] = os.listdir(".")
import autograder, autograder.hidden, course
found["autograder"] = [autograder.__file__, autograder.hidden.__file__, autograder.hidden.seed("coalescing/sectors")]
found["modules"] = sorted(os.listdir(os.path.dirname(autograder.__file__)))
found["root folder"] = sorted(os.listdir(ROOT))
found["files"] = [os.path.join(folder, name) for folder, _, names in os.walk(ROOT) if "/.venv" not in folder
                  for name in names]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict[str, object]:
    """What one look around from inside found, while a server listens outside and a secret is in the environment."""
    if available():
        pytest.skip(available())
    outside = tmp_path_factory.mktemp("outside")
    (outside / "gradebook.db").write_text("marks")
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory(dir="/tmp") as short:
        at = f"{short}/socket"
        with socket.socket(socket.AF_UNIX) as listening, pytest.MonkeyPatch.context() as patch:
            listening.bind(at)
            listening.listen()
            patch.setenv("GRADER_SECRET", "4711")
            names = {
                "PLACES": ["/root/.ssh", "/home", str(Path.home() / ".bashrc"), "/etc/passwd", "/etc/shadow", "/var",
                           "/sys", "/run", "/boot", str(outside), str(ROOT / "source"), str(ROOT / "release"),
                           str(ROOT / "autograder" / "hidden.py"), str(ROOT / "autograder" / "gradebook.db"),
                           str(ROOT / "autograder" / "submitted"), str(ROOT / ".git"), "/proc/1/environ",
                           f"/proc/{os.getpid()}/environ"],
                "WRITES": [str(outside / "gradebook.db"), str(ROOT / "course" / "checks" / "x.py"), "/usr/x", "/x",
                           "/dev/x", str(Path(sys.prefix) / "x"), str(IN_KERNEL / "x"),
                           "/proc/sys/kernel/hostname", "/proc/sysrq-trigger"],
                "PORT": server.getsockname()[1], "UNIX": at, "GRADER": os.getpid(), "ROOT": str(ROOT),
            }  # fmt: skip
            code = "\n".join(f"{name} = {value!r}" for name, value in names.items()) + LOOK
            ran = run(code)
    assert ran.returncode == 0, ran.stderr
    assert (outside / "gradebook.db").read_text() == "marks"
    found: dict[str, object] = {**names, **json.loads(ran.stdout)}
    return found


REFUSED = {"FileNotFoundError", "PermissionError", "OSError", "NotADirectoryError"}


def test_no_place_of_the_grader_can_be_read(seen):
    assert {place: seen[place] for place in seen["PLACES"] if seen[place] not in REFUSED} == {}


def test_nothing_outside_the_private_folders_can_be_written(seen):
    assert {place: seen[f"write {place}"] for place in seen["WRITES"] if seen[f"write {place}"] not in REFUSED} == {}


def test_of_the_course_only_the_package_and_the_stand_in_are_there(seen):
    allowed = (str(ROOT / "course"), str(IN_KERNEL))
    assert [path for path in seen["files"] if not path.startswith(allowed)] == []
    assert set(seen["root folder"]) <= {"course", "autograder", ".venv"}
    assert {"course", "autograder"} <= set(seen["root folder"])


def test_a_test_cell_finds_no_seed(seen):
    package, hidden, seed = seen["autograder"]
    assert Path(package).parent == Path(hidden).parent == IN_KERNEL / "autograder"
    assert seed is None
    assert seen["modules"] == ["__init__.py", "hidden.py", "output.py"]


def test_no_seed_stands_in_any_file_that_can_be_read():
    for path in [*IN_KERNEL.rglob("*.py"), *(ROOT / "course").rglob("*.py")]:
        text = path.read_text(encoding="utf-8").replace("_", "")
        assert [name for name, seed in _SEEDS.items() if str(seed) in text] == [], path


def test_there_is_no_network_and_no_socket_of_the_machine(seen):
    assert seen["tcp"] in {"ConnectionRefusedError", "OSError"}
    assert seen["dns"] == "gaierror"
    assert seen["unix"] == "FileNotFoundError"


def test_no_secret_of_the_graders_environment_comes_in(seen):
    environment = seen["environment"]
    assert "GRADER_SECRET" not in environment
    assert set(environment) - set(bubblewrap._environment(SMALL, True)) <= {"PWD", "LC_CTYPE"}


def test_other_processes_cannot_be_seen_or_ended(seen):
    assert seen["pids"] <= 4
    assert seen["kill"] == "ProcessLookupError"
    # The first process of the sandbox ignores what its own children send, or is another user's.
    assert seen["kill init"] in {"PermissionError", "None"}


def test_there_are_no_rights_to_gain(seen):
    status = dict(line.split(":", 1) for line in str(seen["status"]).splitlines() if ":" in line)
    assert {status[name].strip().lstrip("0") for name in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb")} == {""}
    assert status["NoNewPrivs"].strip() == "1"
    assert seen["uid"] != 0
    assert seen["root"] in {"PermissionError", "OSError"}  # root's id does not exist in a user namespace
    assert seen["mount"] == "True"
    assert seen["cwd"] == []


def test_a_program_cannot_make_a_namespace_with_rights_in_it():
    if available():
        pytest.skip(available())
    ran = run("import os; print(os.system('unshare --user --map-root-user true 2>/dev/null'))")
    assert ran.stdout.strip() not in {"", "0"}


@needs_sandbox
def test_a_folder_can_be_hidden_and_a_file_be_shown(tmp_path):
    (tmp_path / "shown").write_text("here")
    code = (
        f"import os; print(os.listdir({str(ROOT / 'course' / 'checks')!r}), open({str(tmp_path / 'shown')!r}).read())"
    )
    ran = run(code, hide=[ROOT / "course" / "checks"], extra_read=[tmp_path / "shown"], warm=False)
    assert ran.stdout == "[] here\n", ran.stderr


# ---- what can be used up -----------------------------------------------------------------------------------


@pytest.fixture
def home():
    """A folder that every user reaches; pytest's own are for one user."""
    with tempfile.TemporaryDirectory(prefix="home-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


ORDINARY = r"""
import os, sys
from autograder.sandbox.execute import execute
from autograder.sandbox.bubblewrap import available
assert os.getuid() != 0
print(available() or execute(sys.stdin.buffer.read()).notebook.decode())
"""


@pytest.mark.slow
@needs_sandbox
@pytest.mark.skipif(os.getuid() != 0, reason="every other test here runs as an ordinary user already")
def test_an_ordinary_user_has_the_same_sandbox(home):
    python = Path(sys.base_prefix)
    closed = [path for path in python.parents if not path.stat().st_mode & 1]
    opened = [part for path in closed[-1:] for part in ("--perms", "0755", "--tmpfs", str(path))]
    for path in reversed(python.parents):
        if closed and closed[-1] in path.parents:
            opened += ["--perms", "0755", "--dir", str(path)]
    opened += ["--ro-bind", str(python), str(python)]
    user = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    look = "import os; print(os.getuid(), [os.path.exists(p) for p in PLACES], [os.access(p, os.W_OK) for p in PLACES])"
    book = notebook(
        look.replace("PLACES", repr([str(home), "/etc/passwd", "/", "/dev", str(ROOT / "course")])),
        "import socket; socket.create_connection(('127.0.0.1', 1))",
        "print(os.system('unshare --user true 2>/dev/null') != 0)",
        "os.kill(1, 9); print('alive')",
    )
    ran = subprocess.run(
        ["bwrap", "--dev-bind", "/", "/", *opened, "--", *user, "--", sys.executable, "-c", ORDINARY],
        input=book, capture_output=True, cwd=home, timeout=120, check=False,
        env={"HOME": str(home), "TMPDIR": "/tmp", "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr.decode()
    if not ran.stdout.startswith(b"{"):
        pytest.skip(ran.stdout.decode())
    first, network, namespace, alive = shown(Executed(ran.stdout, ""))
    assert first == f"65534 {[False, False, True, True, True]} {[False] * 5}\n"
    assert "refused" in network or "unreachable" in network
    assert (namespace, alive) == ("True\n", "alive\n")


@needs_sandbox
def test_disk_memory_and_processes_end_where_the_limits_say():
    code = r"""
import os, threading, time
def tried(action):
    try:
        action()
    except BaseException as error:
        return type(error).__name__
def one_big_file():
    with open("big", "wb") as file:
        for _ in range(64): file.write(bytes(1 << 20))
def many_files(folder):
    for number in range(64):
        with open(f"{folder}/{number}", "wb") as file: file.write(bytes(1 << 20))
def many_open_files():
    kept = [open("/dev/null") for _ in range(1000)]
print(tried(one_big_file), tried(lambda: many_files("/tmp")), tried(lambda: many_files("/dev/shm")))
print(tried(many_open_files), tried(lambda: bytearray(2 << 30)))
def many_threads():
    for _ in range(1000): threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
print(tried(many_threads))
"""
    words = run(code).stdout.split()
    assert words == ["OSError", "OSError", "OSError", "OSError", "MemoryError", "RuntimeError"]


@pytest.mark.slow
@needs_sandbox
def test_a_fork_bomb_ends_with_the_sandbox_and_two_sandboxes_do_not_count_together():
    mark = f"bomb-{os.getpid()}"
    bomb = f"""
import os, time
mark = {mark!r}
while True:
    try: os.fork()
    except OSError: time.sleep(0.1)
"""
    few = Limits(notebook_seconds=15, processes=40)
    with ThreadPoolExecutor(2) as pool:
        bombed = pool.submit(run, bomb, few)
        assert eventually(lambda: len(processes_with(mark)) >= 30)
        beside = run("import subprocess; print(subprocess.run(['/bin/true']).returncode)", few)
        assert beside.stdout.strip() == "0", beside.stderr
        ended = bombed.result()
    assert ended.returncode == supervisor.STOPPED
    assert ended.stderr.splitlines()[-1] == "took longer than 15 s and was stopped"
    assert eventually(lambda: processes_with(mark) == [])


@pytest.mark.slow
@needs_sandbox
def test_memory_of_all_processes_counts_together():
    hog = """
import os, time
for _ in range(7):
    if not os.fork():
        kept = b"x" * (200 << 20)
        break
time.sleep(20)
"""
    ended = run(hog)
    assert ended.returncode == supervisor.STOPPED
    assert "used more than 1 GiB of memory" in ended.stderr


@needs_sandbox
def test_the_folder_of_the_connection_takes_sockets_only(tmp_path):
    with private_folder() as folder:
        ended = run(
            f"open({str(folder.sockets / 'x')!r}, 'w').write('x'); import time; time.sleep(20)",
            sockets=folder.sockets,
            report=folder.report,
        )
        assert ended.returncode == supervisor.STOPPED
        assert "wrote files where only its connection" in folder.why()


@pytest.mark.slow
def test_the_sandbox_ends_when_the_grader_is_killed():
    if available():
        pytest.skip(available())
    mark = f"orphan-{os.getpid()}"
    argv = command([sys.executable, "-c", f"import time; time.sleep(60); '{mark}'"], limits=Limits())
    code = f"import subprocess, time; subprocess.Popen({argv!r}); time.sleep(60)"
    grader = subprocess.Popen([sys.executable, "-c", code])
    try:
        assert eventually(
            lambda: any(
                line.startswith(("bwrap", sys.executable)) and "import course" not in line
                for line in processes_with(mark)
            )
        )
    finally:
        grader.kill()
        grader.wait()
    assert eventually(lambda: processes_with(mark) == [])


# ---- machines without a sandbox ----------------------------------------------------------------------------


def test_time_and_memory_are_limited_without_a_sandbox_too():
    late = run("while True: pass", Limits(notebook_seconds=2), sandboxed=False)
    assert late.returncode == supervisor.STOPPED
    assert "took longer than 2 s" in late.stderr
    full = run("bytearray(2 << 30)", SMALL, sandboxed=False)
    assert "MemoryError" in full.stderr


@pytest.mark.parametrize(
    ("missing", "said"),
    [("bwrap", "install the package bubblewrap"), ("setpriv", "install the package util-linux")],
)
def test_the_reason_names_what_is_missing(monkeypatch, missing, said):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(shutil, "which", lambda name: None if name == missing else f"/usr/bin/{name}")
    assert said in available.__wrapped__()


def test_the_reason_names_other_systems_and_old_versions(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "needs Linux" in available.__wrapped__()
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("setpriv", "prlimit"):
        (tmp_path / name).symlink_to("/bin/true")
    for version, said in (("0.4.1", "0.8 or newer is needed"), ("0.8.0", "does not start: No permissions")):
        program = tmp_path / "bwrap"
        program.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap {version} && exit\necho No permissions >&2\nexit 1\n'
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setattr(bubblewrap, "_environment", lambda *_: {"PATH": os.environ["PATH"]})
        assert said in available.__wrapped__()
