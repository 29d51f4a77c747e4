"""Files follow the data: a module imports only from modules above it, and no two modules import each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import stochpref

ORDER = [
    "errors",
    "names",
    "checks",
    "verdicts",
    "files",
    "archives",
    "loading",
    "result",
    "threads",
    "processes",
    "bessel",
    "kinds",
    "regions",
    "corners",
    "chances",
    "problems",
    "rows",
    "answers",
    "audit",
    "observations",
    "choosing",
    "extrapolation",
    "readers",
    "laws",
    "mass",
    "stores",
    "probability",
    "clusters",
    "features",
    "feature_likelihood",
    "maximising",
    "likelihood",
    "posterior",
    "segments",
    "consensus",
    "scores",
    "market",
    "baskets",
    "demand",
    "effects",
    "responses",
    "predictive_check",
    "decisions",
    "plots",
    "satiation",
    "normal",
    "tastes",
    "programmes",
    "models",
    "refereeing",
    "comparison",
    "groups",
    "result_plots",
    "decision_plots",
    "design",
    "report",
    "paper",
    "guarantees",
    "cli",
]
ROOT = Path(stochpref.__file__).parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
    if path != ROOT / "__init__.py"
}


def part_of(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every node but those that only type checkers see."""
    for child in ast.iter_child_nodes(tree):
        is_for_types = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        if not is_for_types:
            yield child
            yield from statements(child)


def imported(path: Path) -> set[str]:
    """Return the modules of the package that a module imports, wherever in it, by their names within the package."""
    found: set[str] = set()
    for node in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative imports hide the direction"
            # `from package import x` names a module if there is one of that name, else what package itself holds.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name.removeprefix("stochpref.") in MODULES else str(node.module) for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.removeprefix("stochpref.") for name in found if name.startswith("stochpref.")}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_only_from_above(module: str) -> None:
    place = ORDER.index(part_of(module))
    for name in imported(MODULES[module]):
        assert name in MODULES, f"{module} imports {name}, which is no module"
        assert ORDER.index(part_of(name)) <= place, f"{module} imports {name}, which stands below it"


def test_no_modules_import_each_other() -> None:
    # A package's __init__ offers what its modules hold; its modules do not import it.
    graph = {module: imported(path) - {module} for module, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_every_part_has_a_place() -> None:
    assert {part_of(module) for module in MODULES} == set(ORDER)


@pytest.mark.parametrize("module", sorted(m for m in MODULES if part_of(m) in ("bessel", "mass", "regions", "laws")))
def test_mathematics_reads_no_files(module: str) -> None:
    assert not {part_of(name) for name in imported(MODULES[module])} & {"files", "readers"}


@pytest.mark.parametrize("module", sorted(m for m in MODULES if part_of(m) == "posterior"))
def test_samplers_do_not_know_where_observations_are(module: str) -> None:
    places = {f"stores.{name}" for name in ("cluster", "device", "disk", "engines", "opening")}
    assert not {name for name in imported(MODULES[module]) if name in places or part_of(name) == "readers"}


def test_public_names_load_and_no_module_shadows_them() -> None:
    for name in stochpref.__all__:
        assert getattr(stochpref, name) is not None
    assert set(stochpref.__all__) <= set(dir(stochpref))
    with pytest.raises(AttributeError, match="no_such_name"):
        stochpref.no_such_name  # noqa: B018
