"""A real JupyterLab in a real Chromium, for the browser tests and the README's pictures.

Needs the packages of the `dev` extra and a Chromium: the system's, or the one `playwright install chromium` gets.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

from playwright.sync_api import Browser, Page, sync_playwright

_SETTINGS = {
    # Every cell stays in the page, also those out of sight, so that a test can ask them all.
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
_CHROMIUM = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab server."""

    url: str
    token: str
    folder: Path

    def address(self, notebook: str) -> str:
        """Address that opens `notebook` (a path below the server's folder) in a workspace of its own."""
        workspace = f"t{secrets.token_hex(4)}"
        return f"{self.url}lab/workspaces/{workspace}/tree/{quote(notebook)}?reset&token={self.token}"


@contextmanager
def jupyterlab(folder: Path, *, seconds: float = 120) -> Iterator[Lab]:
    """Serve `folder` on a free port with a token and settings of its own; ended when the block is left."""
    with tempfile.TemporaryDirectory(prefix="lab-") as name:
        home = Path(name)
        _write_settings(home / "settings")
        with (home / "lab.log").open("wb") as log:
            server = subprocess.Popen(
                _command(folder, token := secrets.token_hex(16)),
                env=os.environ | _places(home),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield Lab(_wait_for(server, home, token, seconds), token, folder)
        finally:
            _end(server)


def _command(folder: Path, token: str) -> list[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}"]
    command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}", "--LabApp.news_url=None"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return command


def _places(home: Path) -> dict[str, str]:
    """Nothing of the user's own Jupyter is read or written."""
    return {
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "IPYTHONDIR": str(home / "ipython"),
    }


def _write_settings(folder: Path) -> None:
    for plugin, values in _SETTINGS.items():
        file = folder / f"{plugin}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values), encoding="utf-8")


def _wait_for(server: subprocess.Popen[bytes], home: Path, token: str, seconds: float) -> str:
    """The server's address, once it answers. It may have moved to another port than the one asked for."""
    opener = build_opener(ProxyHandler({}))
    deadline = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < deadline:
        for file in (home / "runtime").glob("jpserver-*.json"):
            try:
                url = str(json.loads(file.read_text(encoding="utf-8"))["url"])
                opener.open(Request(f"{url}api/status", headers={"Authorization": f"token {token}"}), timeout=5).close()
                return url
            except (OSError, ValueError, KeyError):
                pass  # half written, or not listening yet
        time.sleep(0.2)
    log = (home / "lab.log").read_text(encoding="utf-8", errors="replace")
    raise RuntimeError(f"JupyterLab did not start within {seconds:g} s. Its last words:\n{log[-3000:]}")


def _end(server: subprocess.Popen[bytes]) -> None:
    """Ask the server to end (it ends its kernels); then make sure that nothing it started is left."""
    server.terminate()
    with suppress(subprocess.TimeoutExpired):
        server.wait(20)
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
    else:
        server.kill()
    server.wait()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A fresh headless Chromium without a profile."""
    args = list(_CHROMIUM)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        args.append("--no-sandbox")  # Chromium refuses its sandbox to root
    system = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=system, args=args)
        try:
            yield browser
        finally:
            browser.close()


def open_notebook(page: Page, lab: Lab, notebook: str) -> None:
    """Open `notebook` and wait until its kernel has said that it is idle.

    The page shows "idle" before it has a kernel at all, and refuses to run cells then; so listen to the kernel.
    """
    with page.expect_event("websocket", lambda socket: "/channels" in socket.url, timeout=90_000) as kernel:
        page.goto(lab.address(notebook))
    kernel.value.wait_for_event("framereceived", lambda frame: _says_idle(frame), timeout=90_000)
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for(state="attached", timeout=90_000)


def _says_idle(frame: bytes | str) -> bool:
    text = frame.decode(errors="replace") if isinstance(frame, bytes) else frame
    return '"execution_state": "idle"' in text or '"execution_state":"idle"' in text


def run_all(page: Page, *, seconds: float = 300) -> None:
    """Choose Run > Run All Cells, as a person would, and wait until nothing runs any more."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.locator(".jp-Notebook .jp-InputPrompt", has_text="1").first.wait_for(timeout=seconds * 1000)
    page.wait_for_function(
        """() => ![...document.querySelectorAll('.jp-Notebook .jp-InputPrompt')].some(p => p.textContent.includes('*'))
            && document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'""",
        timeout=seconds * 1000,
    )
