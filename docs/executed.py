"""A directive whose Python is run when the documentation is built, so that what a page shows is what the code prints.

Blocks of one page share their names. An exception stops the build. Option ``picture`` saves the current figure.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives


class Executed(Directive):
    """Show code and what it prints."""

    has_content = True
    option_spec: ClassVar = {"picture": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        names: dict[str, Any] = env.temp_data.setdefault("executed", {"__name__": "docs"})
        code, printed = "\n".join(self.content), io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(code, f"{env.docname}.md", "exec"), names)
        shown: list[nodes.Node] = [nodes.literal_block(code, code, language="python")]
        if printed.getvalue():
            shown.append(nodes.literal_block(printed.getvalue(), printed.getvalue().rstrip(), language="text"))
        if "picture" in self.options:
            shown.append(self._picture(env, f"{Path(env.docname).name}-{self.lineno}.svg"))
        return shown

    def _picture(self, env: Any, name: str) -> nodes.Node:
        import matplotlib.pyplot as plt  # noqa: PLC0415

        folder = Path(env.srcdir) / "_generated"
        folder.mkdir(exist_ok=True)
        plt.savefig(folder / name, bbox_inches="tight")
        plt.close("all")
        return nodes.image(uri=f"/_generated/{name}", alt=self.options["picture"])


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("executed", Executed)
    return {"parallel_read_safe": False}
