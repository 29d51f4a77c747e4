# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Independent tasks in processes that may die.

A pool that loses a process loses all its tasks and cannot say whose fault it was. Here each process has one task at a
time: the one that kills it is known, another process takes its place, and the other tasks never notice.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread
from typing import Any, NamedTuple

from stochpref.errors import StochprefError

_spawning = get_context("spawn")  # a fork would copy locks that threads hold


class Lost(NamedTuple):
    """Instead of a result: why there is none."""

    reason: str


@dataclass(eq=False)
class _Helper:
    """A process, the line to it, and the number of its task; None until it is ready for one."""

    process: Any
    line: Any
    number: int | None = None

    @classmethod
    def start(cls, function: Callable[[Any], Any], needs_main: bool) -> _Helper:
        line, far_end = _spawning.Pipe()
        process = _spawning.Process(target=_serve, args=(function, far_end), daemon=True)
        with _deaf(), nullcontext() if needs_main else _nameless_main():
            process.start()
        far_end.close()  # so that the line ends when the process does
        return cls(process, line)

    def hear(self) -> Any:
        """Return what the process says: a result, that it is ready, or, if it is dead, `Lost`."""
        try:
            return self.line.recv()
        except (EOFError, OSError):
            self.process.join()
        if self.number is None:
            raise StochprefError(
                "processes cannot be started, as when a script does not guard what it runs with "
                'if __name__ == "__main__": add that, or set jobs=1'
            )
        code = self.process.exitcode
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return Lost(f"its process {how}; memory may have run out: set fewer jobs")

    def end(self) -> None:
        self.process.terminate()
        self.process.join()
        self.line.close()


@contextmanager
def _deaf() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach, not even while they load: this one ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _nameless_main() -> Iterator[None]:
    """Keep new processes from running the user's script again, which would start processes in turn without end."""
    main = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    main.__spec__ = None
    if file is not None:
        del main.__file__
    try:
        yield
    finally:
        main.__spec__ = spec
        if file is not None:
            main.__file__ = file


def run_in_processes(
    function: Callable[[Any], Any], tasks: Sequence[Any], n_processes: int, *, needs_main: bool
) -> Iterator[tuple[int, Any]]:
    """Yield the number of each task and function(task), or `Lost`, as they finish; processes end with the iterator.

    Parameters
    ----------
    function : importable; it lets no exception out.
    tasks : that can be pickled.
    n_processes : at once, each on one thread.
    needs_main : whether tasks refer to what the user's script defines; it must then guard what it runs.
    """
    waiting = deque(range(len(tasks)))
    helpers: dict[Any, _Helper] = {}
    try:
        while waiting or helpers:
            n_idle = sum(helper.number is None for helper in helpers.values())
            for _ in range(min(n_processes - len(helpers), len(waiting) - n_idle)):
                helper = _Helper.start(function, needs_main)
                helpers[helper.line] = helper
            for line in wait(list(helpers)):
                helper = helpers[line]
                said = helper.hear()
                if helper.number is not None:
                    yield helper.number, said
                if waiting and helper.process.is_alive():
                    helper.number = waiting.popleft()
                    with suppress(OSError):  # dead this moment: that is heard next
                        helper.line.send(tasks[helper.number])
                else:
                    helpers.pop(line).end()
    finally:
        for helper in helpers.values():
            helper.end()


def _serve(function: Callable[[Any], Any], line: Any) -> None:
    """Answer tasks until the line ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where `_deaf` can do nothing
    Thread(target=_end_with_parent, daemon=True).start()
    # Threads of several processes would fight over the cores; results do not depend on their number.
    os.environ["STOCHPREF_NUM_THREADS"] = "1"
    line.send("ready")
    while True:
        try:
            task = line.recv()
        except (EOFError, OSError):
            return
        except Exception as error:  # whatever unpickling what a user wrote may raise
            line.send(
                Lost(f"it cannot be read in another process: {error}; define functions in a module, or set jobs=1")
            )
            continue
        line.send(function(task))


def _end_with_parent() -> None:
    """End this process, whatever it is at, when the one that started it is gone: killed, it ends no other."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # from a thread nothing else ends the process
