"""Sphinx settings."""

import shutil
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

# Sphinx reads what is below its folder only.
(HERE / "_generated").mkdir(exist_ok=True)
shutil.copy(HERE.parent / "examples" / "shop.ipynb", HERE / "_generated" / "shop.ipynb")

project = "stochpref"
copyright = "2026, the stochpref developers"
release = metadata.version("stochpref")
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx-mathjax-offline", "executed"]
myst_enable_extensions = ["dollarmath", "amsmath"]
nb_execution_mode = "force"  # a page shows what the code at hand prints
nb_execution_raise_on_error = True
nb_execution_timeout = 600
html_theme = "alabaster"
html_theme_options = {"description": "Preferences from purchases", "fixed_sidebar": True, "page_width": "1100px"}
exclude_patterns = ["_build"]
autodoc_typehints = "description"
# Descriptions of fields begin where napoleon expects a type, and words such as "names" are then looked up as one.
suppress_warnings = ["ref.python"]
