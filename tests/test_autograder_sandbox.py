"""The sandbox against real attacks, in real kernels: what a student's program can reach, use up, or leave behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest

from autograder.hidden import _SEEDS
from autograder.sandbox import bubblewrap, supervisor
from autograder.sandbox.bubblewrap import IN_KERNEL, available, command
from autograder.sandbox.execute import DIED, Execute, Executed, NotExecutedError, execute
from autograder.sandbox.in_kernel.autograder.output import CUT
from autograder.sandbox.kernel import private_folder
from autograder.sandbox.limits import GIB, MIB, Limits
from autograder.settings import ROOT

SMALL = Limits(cell_seconds=3, notebook_seconds=30, memory_bytes=GIB, file_bytes=8 * MIB, scratch_bytes=16 * MIB)

needs_sandbox = pytest.mark.skipif(bool(available()), reason=f"no sandbox here: {available()}")


def notebook(*cells: str) -> bytes:
    code = [nbformat.v4.new_code_cell(cell) for cell in cells]
    return nbformat.writes(nbformat.v4.new_notebook(cells=code)).encode("utf-8")


def shown(executed: Executed) -> list[str]:
    """What each code cell showed, as text; errors as "Name: value"."""
    cells = nbformat.reads(executed.notebook.decode("utf-8"), as_version=4).cells
    return ["".join(map(_text, cell.outputs)) for cell in cells if cell.cell_type == "code"]


def _text(output: nbformat.NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return str(output.data.get("text/html") or output.data.get("text/plain"))


def run(code: str, limits: Limits = SMALL, **options: object) -> subprocess.CompletedProcess[str]:
    """Run some Python in the sandbox, without a kernel."""
    argv = command([sys.executable, "-c", code], limits=limits, **options)  # type: ignore[arg-type]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


def eventually(condition, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def processes_with(mark: str) -> list[str]:
    """Processes of this machine whose command line holds `mark`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if mark in line and path.parent.name != str(os.getpid()):
            found.append(line)
    return found


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
    few = Limits(notebook_seconds=4, processes=40)
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        bombed = pool.submit(run, bomb, few)
        time.sleep(1.5)
        beside = run("import subprocess; print(subprocess.run(['/bin/true']).returncode)", few)
        assert beside.stdout.strip() == "0", beside.stderr
        ended = bombed.result()
    assert ended.returncode == supervisor.STOPPED
    assert ended.stderr.splitlines()[-1] == "took longer than 4 s and was stopped"
    assert time.monotonic() - began < 15
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
            ),
            10,
        )
    finally:
        grader.kill()
        grader.wait()
    assert eventually(lambda: processes_with(mark) == [])


# ---- notebooks ---------------------------------------------------------------------------------------------


@needs_sandbox
def test_cells_run_one_after_the_other_and_an_error_stops_none():
    done = execute(notebook("x = 1", "1 / 0", "print(x + 1)", "import os; os.getcwd()"), SMALL)
    assert done.problem == ""
    assert shown(done) == ["", "ZeroDivisionError: division by zero", "2\n", "'/tmp/work'"]


@needs_sandbox
def test_a_student_file_shadows_nothing_and_nothing_is_left_behind():
    before = set(Path(tempfile.gettempdir()).glob("grade-*"))
    mark = f"left-{os.getpid()}"
    done = execute(
        notebook(
            "open('numpy.py', 'w').write('x = 1'); import os; os.symlink('/etc/shadow', 'link')",
            f"import subprocess; p = subprocess.Popen(['setsid', 'sleep', '61', '{mark}'])",
            f"import sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(61)  # {mark}'])",
            "try:\n    open('link').read()\nexcept OSError as error:\n    print(type(error).__name__)",
            "print(sorted(os.listdir('.')))",
        ),
        SMALL,
    )
    assert done.problem == ""
    assert shown(done)[3:] == ["FileNotFoundError\n", "['link', 'numpy.py']\n"]
    assert eventually(lambda: processes_with(mark) == [])
    assert set(Path(tempfile.gettempdir()).glob("grade-*")) <= before
    assert shown(execute(notebook("import numpy; print(numpy.arange(3).sum())"), SMALL)) == ["3\n"]


@needs_sandbox
@pytest.mark.parametrize(
    "end",
    [
        "os._exit(0)",
        pytest.param("os.kill(os.getpid(), 9)", marks=pytest.mark.slow),
        pytest.param("os.kill(os.getppid(), 9); time.sleep(3)", marks=pytest.mark.slow),
    ],
)
def test_a_kernel_that_ends_itself_is_a_problem_and_earlier_cells_stay(end):
    done = execute(notebook("import os, time; print('before')", end, "print('after')"), SMALL)
    first, second, third = shown(done)
    assert first == "before\n"
    if done.problem:
        assert done.problem == f"The notebook {DIED}."
        assert (second, third) == (f"Stopped: {DIED}", "")
    else:  # its parent is the first process of the sandbox, which it cannot end
        assert "getppid" in end
        assert third == "after\n"


@pytest.mark.slow
@needs_sandbox
def test_a_cell_and_a_notebook_have_time_limits():
    forever = "while True: pass"
    cell = execute(notebook("print(1)", forever, "print(3)"), Limits(cell_seconds=1))
    assert cell.problem == ""
    assert "the cell took longer than 1 s" in shown(cell)[1]
    assert shown(cell)[2] == "3\n"
    whole = execute(notebook("print(1)", forever, "print(3)"), Limits(notebook_seconds=5))
    assert whole.problem == "The notebook took longer than 5 s and was stopped."
    assert shown(whole)[0::2] == ["1\n", ""]


@pytest.mark.slow
@needs_sandbox
def test_a_cell_that_refuses_to_be_interrupted_ends_the_notebook():
    stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    done = execute(notebook("print(1)", stubborn, "print(3)"), Limits(cell_seconds=1, notebook_seconds=60))
    assert "could not be stopped" in done.problem
    assert shown(done)[0::2] == ["1\n", ""]


@pytest.mark.slow
@needs_sandbox
def test_a_cell_that_goes_on_after_an_interrupt_is_interrupted_again():
    again = """
import time
caught = 0
while caught < 6:
    try:
        while True: time.sleep(0.01)
    except KeyboardInterrupt:
        caught += 1
"""
    done = execute(notebook(again, "print(caught)"), Limits(cell_seconds=1, notebook_seconds=60))
    assert done.problem == ""
    assert "the cell took longer than 1 s" in shown(done)[0]
    assert shown(done)[1] == "6\n"


@needs_sandbox
def test_endless_output_is_cut_with_a_note_and_the_next_cell_runs():
    limits = Limits(output_bytes=100_000, all_output_bytes=MIB)
    done = execute(
        notebook(
            "print('x' * 10**8)",
            "import os; os.write(1, b'y' * 10**6); print(end='')",
            "from IPython.display import HTML, display\nfor _ in range(50): display(HTML('z' * 9000))",
            "print('after')",
        ),
        limits,
    )
    assert done.problem == ""
    long, raw, many, after = shown(done)
    assert long.endswith(CUT) and len(long) < 100_000
    assert raw.count("y") < 100_000
    assert many.endswith(CUT) and many.count("z") < 100_000
    assert after == "after\n"
    assert len(done.notebook) < 400_000


@pytest.mark.slow
@needs_sandbox
def test_one_message_that_is_far_too_long_never_comes_in():
    limits = Limits(cell_seconds=10, notebook_seconds=60, message_bytes=MIB)
    done = execute(notebook("print(1)", "from IPython.display import HTML\nHTML('x' * 10**8)", "print(3)"), limits)
    assert "showed more than 1 MiB at once" in done.problem
    assert shown(done)[0] == "1\n"
    assert len(done.notebook) < 10_000


@needs_sandbox
def test_what_is_printed_past_the_notebook_never_reaches_the_graders_terminal(capfd):
    done = execute(
        notebook("import os, sys; os.write(sys.__stderr__.fileno(), b'\\x1b]0;hacked\\x07'); os.system('echo hi')"),
        SMALL,
    )
    assert done.problem == ""
    assert "hacked" not in "".join(capfd.readouterr())


@pytest.mark.slow
@needs_sandbox
def test_forged_messages_and_half_characters_do_no_harm():
    forged = r"""
import ipykernel.kernelapp
kernel = get_ipython().kernel
for content in ({}, {"name": 3}, {"data": 1, "metadata": None}, []):
    for kind in ("stream", "display_data", "nonsense"):
        kernel.session.send(kernel.iopub_socket, kind, content, parent={})
kernel.iopub_socket.send_multipart([b"rubbish", b"<IDS|MSG>", b"no", b"{", b"{", b"{", b"{"])
print("\ud800")
"""
    done = execute(notebook("print(1)", forged, "print(3)"), SMALL)
    assert shown(done)[0::2] == ["1\n", "3\n"]


def test_what_is_no_notebook_is_a_problem():
    for text in (
        b"PK\x03\x04",
        b"",
        b"[]",
        b"\xff\xfe",
        b'{"cells": 3, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
    ):
        done = execute(text)
        assert done.problem, text
        assert done.notebook == text or done.problem.startswith("The notebook")


@pytest.mark.slow
@needs_sandbox
def test_two_runs_beside_each_other_in_worker_processes_and_threads():
    cells = [
        "import os, time; open('mine', 'w').write('{0}'); time.sleep(0.5)",
        "print(os.listdir('.'), open('mine').read())",
    ]
    books = [notebook(*(cell.format(number) for cell in cells)) for number in range(4)]
    with ProcessPoolExecutor(2) as processes, ThreadPoolExecutor(2) as threads:
        waiting = [
            pool.submit(execute, book, SMALL)
            for pool, book in zip([processes, processes, threads, threads], books, strict=True)
        ]
        done = [one.result(timeout=120) for one in waiting]
    assert [one.problem for one in done] == [""] * 4
    assert [shown(one)[1] for one in done] == [f"['mine'] {number}\n" for number in range(4)]


def released(chapter: str) -> bytes:
    return (ROOT / "release" / chapter / f"{chapter}.ipynb").read_bytes()


@pytest.mark.slow
@needs_sandbox
def test_a_chapter_shows_the_same_inside_and_outside():
    inside, outside = (execute(released("coalescing"), sandboxed=walls) for walls in (True, False))
    assert (inside.problem, outside.problem) == ("", "")

    def plain(text: str) -> str:
        return re.sub(r"gmc-static-\w+|<.*?>", "", text, flags=re.DOTALL)

    mine, theirs = [plain(text) for text in shown(inside)], [plain(text) for text in shown(outside)]
    differing = [(one, other) for one, other in zip(mine, theirs, strict=True) if one != other]
    assert differing == []
    assert "Traceback" not in "".join(mine)


# ---- stock nbgrader, and machines without a sandbox --------------------------------------------------------


@pytest.mark.slow
@needs_sandbox
def test_nbgraders_own_preprocessor_is_the_same_kernel_whatever_the_notebook_names():
    nb = nbformat.reads(notebook("import autograder.hidden as h; print(h.seed('x'), 1)").decode(), as_version=4)
    nb.metadata["kernelspec"] = {"name": "some-other-kernel", "display_name": "x", "language": "python"}
    Execute().preprocess(nb, {})
    assert nb.cells[0].outputs[0].text == "None 1\n"
    dead = nbformat.reads(notebook("import os; os._exit(1)").decode(), as_version=4)
    with pytest.raises(NotExecutedError, match="ended its Python process"):
        Execute().preprocess(dead, {})


def test_without_a_sandbox_nothing_runs_unless_told_so(monkeypatch):
    monkeypatch.setattr("autograder.sandbox.execute.available", lambda: "bubblewrap is not installed")
    refused = execute(notebook("print(1)"), SMALL)
    assert refused.problem == "The notebook was not run, because there is no sandbox: bubblewrap is not installed."
    assert shown(refused) == [""]
    look = "import os; print(os.listdir('.'), 'GRADER_SECRET' in os.environ)"
    monkeypatch.setenv("GRADER_SECRET", "4711")
    done = execute(notebook(look, "import autograder.hidden as h; h.seed('x')"), SMALL, sandboxed=False)
    assert (done.problem, shown(done)) == ("", ["[] False\n", ""])


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
