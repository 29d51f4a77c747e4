"""Files follow the data: a module imports only from modules above it in this list."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import stochpref

ORDER = [
    "errors",
    "engines",
    "processes",
    "bessel",
    "classification",
    "audit",
    "observations",
    "readers",
    "choice",
    "regions",
    "parts",
    "cluster",
    "laws",
    "mass",
    "likelihood",
    "posterior",
    "consensus",
    "prediction",
    "demand",
    "fits",
    "models",
    "comparison",
    "groups",
    "design",
    "guarantees",
    "plots",
    "report",
    "reproduce",
    "cli",
]
ROOT = Path(stochpref.__file__).parent
MODULES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative imports hide the direction"
            names.append(node.module or "")
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return {name.split(".")[1] for name in names if name.startswith("stochpref.")}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_only_from_above(path: Path) -> None:
    place = ORDER.index(part_of(path))
    for name in imported_parts(path) - {part_of(path)}:
        assert ORDER.index(name) < place, f"{part_of(path)} imports {name}, which stands below it"


def test_public_names_load_and_no_module_shadows_them() -> None:
    for name in stochpref.__all__:
        assert getattr(stochpref, name) is not None
    assert set(stochpref.__all__) <= set(dir(stochpref))
    with pytest.raises(AttributeError, match="no_such_name"):
        stochpref.no_such_name  # noqa: B018
