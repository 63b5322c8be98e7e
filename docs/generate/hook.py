"""What the site has beside the pages in docs/: tables made from the code, and pages for other files of the project.

MkDocs calls the functions named ``on_…``. Everything is made when the site is built and nothing of it is kept, so that
there is no generated file that could fall behind the code.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from project_pages import ROOT, ProjectPages
from reference_tables import fill

__all__ = ["on_config", "on_files", "on_page_markdown", "on_post_build"]

_pages = ProjectPages()
_layout = TemporaryDirectory(prefix="agentguard-docs-")


@event_priority(100)  # before mkdocstrings reads its own configuration
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Show mkdocstrings the package as a wheel holds it: ``integrations/`` is a folder at the top of the project."""
    package = Path(_layout.name) / "agentguard"
    if not package.exists():
        package.mkdir()
        for source in (*(ROOT / "src" / "agentguard").iterdir(), ROOT / "integrations", ROOT / "profiles"):
            (package / source.name).symlink_to(source, target_is_directory=source.is_dir())
    config.plugins["mkdocstrings"].config["handlers"].setdefault("python", {})["paths"] = [_layout.name]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file outside docs/ that a page links to."""
    for uri, text in _pages.collect(files.documentation_pages()).items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the generated tables in their places, and lead links out of docs/ to the pages made above."""
    return _pages.relink(fill(markdown, page.file.src_uri), page.file.src_uri)


def on_post_build(config: MkDocsConfig) -> None:
    """Say where the site is."""
    print(f"the documentation is in {Path(config.site_dir) / 'index.html'}", file=sys.stderr)
