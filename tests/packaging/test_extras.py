"""What each file imports is required, by the core or by the extra that is named where it is missing."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
SOURCES = sorted(path for folder in ("src", "integrations") for path in (ROOT / folder).rglob("*.py"))

#: The extra that a file is part of; the longest beginning counts. Files that are not here need the core alone.
PART_OF = {
    "integrations/agent_framework.py": "agent-framework",
    "integrations/callbacks.py": "langchain",
    "integrations/content": "langchain",
    "integrations/convergence.py": "langgraph",
    "integrations/crewai.py": "crewai",
    "integrations/_demo": "langchain",
    "integrations/google_adk.py": "google-adk",
    "integrations/langgraph.py": "langgraph",
    "integrations/claims.py": "langchain",
    "integrations/health.py": "langchain",
    "integrations/langchain.py": "langchain",
    "integrations/litellm.py": "litellm",
    "integrations/mcp.py": "mcp",
    "integrations/_mcp_content.py": "mcp",
    "integrations/_messages.py": "langgraph",
    "integrations/openai_agents.py": "openai-agents",
    "integrations/_tool_calls.py": "langgraph",
    "integrations/pydantic_ai.py": "pydantic-ai",
    "integrations/review.py": "langgraph",
    "integrations/strands.py": "strands",
    "src/agentguard/calibration/": "calibrate",
    "src/agentguard/cli/_proxy.py": "proxy",
    "src/agentguard/cli/_serve.py": "serve",
    "src/agentguard/content/answers/compliance.py": "content",
    "src/agentguard/content/_redaction.py": "content",
    "src/agentguard/gate/": "gate",
    "src/agentguard/gate/api/": "serve",
    "src/agentguard/gate/conformance/": "test",
    "src/agentguard/gate/backends/_elasticsearch": "elasticsearch",
    "src/agentguard/gate/evidence/_elasticsearch": "elasticsearch",
    "src/agentguard/gate/documents/_s3.py": "s3",
    "src/agentguard/gate/models/_entailment.py": "onnx",
    "src/agentguard/gate/models/_bedrock.py": "bedrock",
    "src/agentguard/gate/models/_opening.py": "bedrock",
    "src/agentguard/gate/records/_elasticsearch": "elasticsearch",
    "src/agentguard/guard/api/": "serve",
    "src/agentguard/live/": "serve",
    "src/agentguard/proxy/": "proxy",
    "src/agentguard/serving/": "serve",
    "src/agentguard/stores/_redis": "redis",
    "src/agentguard/telemetry/_opentelemetry.py": "otel",
    "src/agentguard/telemetry/_prometheus.py": "prometheus",
    "src/agentguard/testing/": "test",
    "src/agentguard/traces/_spark.py": "spark",
    "src/agentguard/traces/_read.py": "parquet",
}

#: What is required and imported nowhere, and why.
NOT_IMPORTED = {
    "langchain-aws": "opened by langchain, as a configuration names it",
    "langchain-ollama": "the same",
    "langchain-openai": "the same",
    "lxml": "the parser that BeautifulSoup is told to use",
    "pandas": "pyspark needs it for what it is asked here, and does not require it",
}

#: Not there on Python 3.10, or in environments of their own.
UNDISTRIBUTED = {
    "agent_framework": ["agent-framework-core"],
    "crewai": ["crewai"],
    "google": ["google-adk"],
    "litellm": ["litellm"],
    "pydantic_ai": ["pydantic-ai-slim"],
    "strands": ["strands-agents"],
}
#: What others need in other versions: left out of `all`.
ALONE = {"agent-framework", "crewai", "google-adk", "litellm", "strands"}
NOT_SHIPPED = {"_typeshed"}  # of the type checker


def name_of(source: Path) -> str:
    return source.relative_to(ROOT).as_posix()


def extra_of(source: str) -> str | None:
    beginnings = [beginning for beginning in PART_OF if source.startswith(beginning)]
    return PART_OF[max(beginnings, key=len)] if beginnings else None


def imported(node: ast.AST) -> Iterator[str]:
    """The top-level modules that are imported when the program runs, wherever in it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and not child.level and child.module:
            yield child.module.partition(".")[0]
        yield from imported(child)


@cache
def distributions_of(module: str) -> frozenset[str]:
    """Those that bring a module, several where it is a namespace."""
    return frozenset(map(canonicalize_name, [*packages().get(module, ()), *UNDISTRIBUTED.get(module, ())]))


packages = cache(packages_distributions)  # reads what is installed, all of it


@cache
def outside(source: Path) -> frozenset[str]:
    """The modules beyond the standard library that a file imports."""
    modules = set(imported(ast.parse(source.read_text(encoding="utf-8"))))
    return frozenset(modules - sys.stdlib_module_names - NOT_SHIPPED - {"agentguard"})


def without(modules: frozenset[str], installed: frozenset[str]) -> frozenset[str]:
    """The modules that none of these distributions brings."""
    return frozenset(module for module in modules if not distributions_of(module) & installed)


@cache
def stated(extra: str | None) -> frozenset[str]:
    """The distributions that the project itself requires, in the core or with an extra."""
    found: set[str] = set()
    for line in PROJECT["dependencies"] if extra is None else EXTRAS[extra]:
        requirement = Requirement(line)
        if requirement.name == "agentguard":
            found |= {name for each in requirement.extras for name in stated(each)}
        else:
            found.add(canonicalize_name(requirement.name))
    return frozenset(found)


@cache
def with_theirs(names: frozenset[str]) -> frozenset[str]:
    """These distributions, and all that they require in turn."""
    found: set[str] = set()
    left = set(names)
    while left:
        name = left.pop()
        found.add(name)
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue
        for requirement in map(Requirement, lines):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                left |= {canonicalize_name(requirement.name)} - found
    return frozenset(found)


def messages(source: Path) -> set[str]:
    """The extras that a file tells its user to install."""
    text = source.read_text(encoding="utf-8")
    listed = re.findall(r"agentguard\[([a-z][a-z0-9,-]*)\]", text) + re.findall(r"needs\(\"([a-z-]+)\"", text)
    return {extra for one in listed for extra in one.split(",")}


CORE = with_theirs(stated(None))


def test_what_a_file_imports_is_required_by_the_core_or_its_extra() -> None:
    missing = {}
    for source in SOURCES:
        extra = extra_of(name_of(source))
        installed = CORE if extra is None else CORE | with_theirs(stated(extra))
        missing[name_of(source)] = without(outside(source), installed)

    assert {source: modules for source, modules in missing.items() if modules} == {}


TELLING = [source for source in SOURCES if messages(source)]


@pytest.mark.parametrize("source", TELLING, ids=name_of)
def test_an_extra_that_is_named_exists_and_brings_what_the_file_imports(source: Path) -> None:
    named = messages(source)
    assert named <= EXTRAS.keys()

    beyond = without(outside(source), CORE)
    brought = frozenset().union(*(with_theirs(stated(extra)) for extra in named))
    assert not beyond or without(beyond, brought) != beyond


def test_extras_that_are_named_by_a_table_exist() -> None:
    from agentguard.gate.models._opening import EXTRAS as PROVIDERS

    assert PROVIDERS | set(PART_OF.values()) <= EXTRAS.keys()
    assert [
        beginning for beginning in PART_OF if not any(name_of(each).startswith(beginning) for each in SOURCES)
    ] == []


def test_what_is_required_is_imported_or_there_for_a_reason() -> None:
    shipped = {extra: stated(extra) for extra in EXTRAS.keys() - {"all", "dev", "test"}}
    used = {name for source in SOURCES for module in outside(source) for name in distributions_of(module)}

    assert stated(None) - used == set()
    assert set().union(*shipped.values()) - used == NOT_IMPORTED.keys()


def test_all_is_every_extra_but_the_heavy_ones_and_those_of_development() -> None:
    (*parts,) = [Requirement(line) for line in EXTRAS["all"]]
    listed = [extra for part in parts for extra in part.extras]

    assert {part.name for part in parts} == {"agentguard"}
    assert sorted(listed) == sorted(EXTRAS.keys() - {"all", "onnx", "spark", "dev", "test"} - ALONE)


def test_every_extra_has_its_row_where_installing_is_explained() -> None:
    page = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE)

    assert sorted(rows) == sorted(EXTRAS.keys() - {"dev", "test"})


def test_imports_are_found_wherever_they_stand() -> None:
    code = """
import a.b
from c import d
from . import e
if TYPE_CHECKING:
    import f
def g():
    try:
        import h, i
    except ImportError:
        from j.k import l
"""
    assert set(imported(ast.parse(code))) == {"a", "c", "h", "i", "j"}
