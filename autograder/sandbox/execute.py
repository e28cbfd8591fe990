"""Run a student's notebook in the sandbox: bytes in, executed bytes out. The same for `make grade` and stock nbgrader.

Safe in a worker process and in a thread: no signal handler, no change of folder or environment.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import nbformat
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbgrader.preprocessors import Execute as StockExecute
from traitlets import Bool, Enum, Instance

from autograder.sandbox.bubblewrap import available
from autograder.sandbox.kernel import Kernel, PrivateFolder, private_folder
from autograder.sandbox.limits import MIB, Limits

__all__ = ["Execute", "Executed", "NotExecutedError", "execute"]

DIED = "ended its Python process (a call such as os._exit, a crash, or out of memory)"


class NotExecutedError(Exception):
    """The notebook did not come to its end. The message says why, for a person; cells that ran keep their outputs."""


@dataclass(frozen=True)
class Executed:
    """A notebook after its run."""

    notebook: bytes
    """JSON in UTF-8. Cells that were not reached have no outputs."""
    problem: str
    """"" when every cell was run, else why not, in plain words."""


class Execute(StockExecute):  # type: ignore[misc]  # nbgrader is untyped
    """nbgrader's preprocessor Execute with another kernel: the sandboxed one, whatever kernel the notebook names."""

    limits = Instance(Limits, args=())
    sandboxed = Bool(True, help="False: run what students wrote without the sandbox. Only if you trust them all.").tag(
        config=True
    )
    # It has nothing to save, and may be in an endless loop.
    shutdown_kernel = Enum(["graceful", "immediate"], default_value="immediate").tag(config=True)

    _folder: PrivateFolder
    _kernel: Kernel
    _running: Any = None

    def preprocess(self, nb: Any, resources: Any = None, km: None = None) -> tuple[Any, Any]:
        """Run all cells. Raises NotExecutedError when the notebook does not come to its end."""
        if self.sandboxed and (reason := available()):
            raise NotExecutedError(f"was not run, because there is no sandbox: {reason}")
        late = f"the cell took longer than {self.timeout} s and was interrupted"
        self.error_on_timeout = {
            "ename": "CellTimeoutError",
            "evalue": late,
            "traceback": [f"CellTimeoutError: {late}"],
        }
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        with private_folder() as self._folder:
            self._kernel = Kernel(self._folder, self.limits, self.sandboxed)
            try:
                return super().preprocess(nb, resources)  # type: ignore[no-any-return]
            except Exception as error:  # a student's program can make nbclient fail in many ways
                reason = self._reason(error)
                if self._running is not None:
                    told = nbformat.v4.new_output("error", ename="Stopped", evalue=reason, traceback=[reason])
                    self._running.outputs.append(told)
                raise NotExecutedError(reason) from error
            finally:
                self._kernel.end()
                for cell in nb.cells:
                    if cell.cell_type == "code":
                        cell.outputs = _joined(cell.outputs)

    def create_kernel_manager(self) -> Kernel:
        """What nbclient calls for a kernel."""
        self.km = self._kernel
        return self._kernel

    def on_cell_execute(self, cell: Any, cell_index: int) -> None:
        """What nbclient calls before each cell."""
        self._running = cell

    def on_cell_executed(self, **kwargs: Any) -> None:
        """What nbclient calls after each cell."""
        self._kernel.calm()
        super().on_cell_executed(**kwargs)

    def _reason(self, error: Exception) -> str:
        if why := self._folder.why():
            return why
        if isinstance(error, DeadKernelError):
            return DIED
        if self._running is None:
            return f"could not be started: {self._folder.last_words()}"
        if isinstance(error, CellTimeoutError):
            return (
                f"had a cell that could not be stopped after {self.timeout} s, "
                f"or that showed more than {self.limits.message_bytes // MIB} MiB at once"
            )
        return f"could not be run to its end ({type(error).__name__}: {str(error)[:200]})"


def _joined(outputs: list[Any]) -> list[Any]:
    """Outputs in which prints between two displays are one output: stdout, then stderr.

    A kernel sends what is printed in pieces, cut by its clock: a busy machine would give other files than an idle one.
    nbclient's own `coalesce_streams` also moves prints over displays, and takes minutes for a line of 1 MiB (one of its
    regular expressions is quadratic).
    """
    result: list[Any] = []
    for printed, run in groupby(outputs, lambda output: output.output_type == "stream"):
        if not printed:
            result += run
            continue
        pieces: dict[str, list[str]] = {"stdout": [], "stderr": []}
        for output in run:
            # A forged message may hold another name, or a list of lines.
            pieces.setdefault(output.name, []).append("".join(output.text))
        for name, texts in pieces.items():
            if texts:
                result.append(nbformat.v4.new_output("stream", name=name, text="".join(texts)))
    return result


def execute(notebook: bytes, limits: Limits | None = None, sandboxed: bool = True) -> Executed:
    """Run all cells of a notebook (JSON in UTF-8) in a process of its own. Never raises for what a notebook does.

    A cell that takes too long is interrupted and the next one runs. sandboxed=False only for people you trust: see
    `bubblewrap.UNPROTECTED`.
    """
    limits = limits or Limits()
    try:
        nb = nbformat.reads(notebook.decode("utf-8"), as_version=4)
    except Exception as error:  # nbformat fails in many ways on what is no notebook
        return Executed(notebook, f"The file is not a notebook ({type(error).__name__}: {str(error)[:200]})")
    seconds = limits.cell_seconds
    # What a cell showed may come long after its end: on a busy machine thousands of displays take their time.
    late = max(10, 2 * seconds)
    runner = Execute(limits=limits, sandboxed=sandboxed, timeout=seconds, startup_timeout=120, iopub_timeout=late)
    try:
        runner.preprocess(nb, {})
        problem = ""
    except NotExecutedError as error:
        problem = f"The notebook {error}."
    # A lone half of a character pair cannot be written as UTF-8.
    return Executed(nbformat.writes(nb).encode("utf-8", "replace"), problem)
