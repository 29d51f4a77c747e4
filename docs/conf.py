"""Sphinx settings."""

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "stochpref"
copyright = "2026, the stochpref developers"
release = metadata.version("stochpref")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx-mathjax-offline", "executed"]
myst_enable_extensions = ["dollarmath", "amsmath"]
html_theme = "alabaster"
html_theme_options = {"description": "Preferences from purchases", "fixed_sidebar": True, "page_width": "1100px"}
exclude_patterns = ["_build"]
autodoc_typehints = "description"
