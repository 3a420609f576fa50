"""How Sphinx builds the site: the guides as they stand in this folder, and the API reference from docstrings."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))
from prompts_page import page  # noqa: E402  (it stands beside this file, which Sphinx only executes)

(FOLDER / "prompts.md").write_text(page(), "utf-8")

project = "Conspectus"
author = "The Conspectus authors"
copyright = author  # noqa: A001  (Sphinx's name)
version = release = installed("conspectus")

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_parser"]
html_theme = "furo"
html_title = "Conspectus"
exclude_patterns = ["conf.py"]
myst_heading_anchors = 3
# Guides link to code, tests and benchmarks of the repository; tests/end_to_end/test_docs.py checks those links.
suppress_warnings = ["myst.xref_missing"]

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
napoleon_google_docstring = True
napoleon_use_rtype = False
