"""Pages of HTML that ask for nothing: no script, no font, no picture from elsewhere.

The reports on calls and on the gate are such pages. Their templates begin with ``{% include "head.html" %}``; all text
is escaped, and cleaned before that of what no page should hold.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
_UNUSABLE = re.compile("[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def clean(text: str) -> str:
    r"""Remove control, bidirectional and invisible characters but line feeds and tabs; lone surrogates become U+FFFD.

    >>> clean("a\x00b\n\u202ec\ud800")
    'ab\nc\ufffd'
    """
    return _UNUSABLE.sub("\ufffd", _CONTROL.sub("", text))


@cache
def style_sheet() -> str:
    """The one style sheet: two settings of light, two of width, and paper."""
    return _read(__name__, "page.css")


@cache
def policy() -> str:
    """The content security policy that browsers hold a page to: show this style sheet, and nothing else."""
    digest = b64encode(sha256(style_sheet().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def environment(package: str) -> Environment:
    """Open the templates of a package, with the shared head beside them.

    Args:
        package: The package whose ``.html`` files are the templates.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # 20 ms, for who renders a page

    result = Environment(
        autoescape=True,
        extensions=["jinja2.ext.do"],
        finalize=_cleaned,
        loader=FunctionLoader(lambda name: _read(__name__ if name == "head.html" else package, name)),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    result.globals.update(policy=policy(), sheet=style_sheet())
    return result


def _read(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _cleaned(value: Any) -> Any:
    """Clean text; a subclass of str at this point is the template's own markup."""
    return clean(value) if type(value) is str else value
