"""How Sphinx builds the site; `make docs` runs it with warnings as errors."""

import re
import sys
from pathlib import Path

import patchfold

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

FITTED_NAME = re.compile(r"(?<![`*\w])([a-z]\w*)_(?=[\s,.;)+]|$)")

project = "patchfold"
author = "The patchfold developers"
copyright = author
version = release = patchfold.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["records", "gallery/*.rst"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

default_role = "py:obj"  # a name in single backquotes is one of ours, or just code
autodoc_typehints = "none"  # numpydoc has the types, in words
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "thumbnail_size": (720, 340),
    "capture_repr": (),
    "min_reported_time": 3600,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "copyfile_regex": "",
}


def escape_underscores(app, what, name, obj, options, lines):
    """Keep a fitted name such as n_features_in_ from being read as a link."""
    lines[:] = [FITTED_NAME.sub(r"\1\_", line) for line in lines]


def setup(app):
    """Run after numpydoc, which leaves the types of attributes as they are written."""
    app.connect("autodoc-process-docstring", escape_underscores, priority=900)


html_theme = "furo"
html_title = "patchfold"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_math_renderer = "mathml"
html_copy_source = False
