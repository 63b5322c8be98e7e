"""What a package shows is what it says it shows, and all of it is described."""

import importlib
import inspect
from types import ModuleType

from ..rows import over

FACES = [
    "agentguard",
    "agentguard.convergence",
    "agentguard.gate",
    "agentguard.guard",
    "agentguard.health",
    "agentguard.live",
    "agentguard.report",
    "agentguard.telemetry",
    "agentguard.testing",
    "agentguard.traces",
    "agentguard.verification",
]


def public_names(module: ModuleType) -> list[str]:
    """Names without an underscore, but for submodules, which importing anything puts there; a lazy face loads them."""
    shown = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return sorted(name for name, value in shown.items() if not isinstance(value, ModuleType))


@over("face", FACES)
def test_all_is_sorted_and_complete(face: str) -> None:
    module = importlib.import_module(face)

    assert module.__all__ == public_names(module)


def undescribed(name: str, value: object) -> list[str]:
    """Of a class or function: itself and its own public methods and properties, where they have no docstring."""
    missing = [] if inspect.getdoc(value) else [name]
    if not inspect.isclass(value):
        return missing
    own = {member: found for member, found in vars(value).items() if not member.startswith("_")}
    callables = {
        member: found
        for member, found in own.items()
        if inspect.isfunction(found) or isinstance(found, property | classmethod | staticmethod)
    }
    return missing + [f"{name}.{member}" for member, found in callables.items() if not found.__doc__]


@over("face", FACES)
def test_every_public_name_is_described(face: str) -> None:
    module = importlib.import_module(face)
    shown = {name: getattr(module, name) for name in module.__all__}
    missing = [
        place
        for name, value in shown.items()
        if inspect.isclass(value) or inspect.isroutine(value)
        for place in undescribed(name, value)
    ]

    assert missing == []


def test_a_method_without_a_docstring_is_noticed() -> None:
    class Shown:
        """Described."""

        def silent(self) -> None: ...

        def described(self) -> None:
            """Described."""

    assert undescribed("Shown", Shown) == ["Shown.silent"]
