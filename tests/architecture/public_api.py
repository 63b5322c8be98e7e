"""The public names of agentguard as text, one a line: what a user may import, and how it is called.

    python -m tests.architecture.public_api > tests/architecture/public_api.txt

Public is what ``__all__`` names in packages and modules without an underscore.
"""

from __future__ import annotations

from collections.abc import Iterator

import griffe


def public_api() -> list[str]:
    """Every public name, its parameters and its public members, by the module from which it is imported."""
    package = griffe.load("agentguard")
    assert isinstance(package, griffe.Module)
    return [line for module in _faces(package) for line in _lines(module)]


def _faces(package: griffe.Module) -> Iterator[griffe.Module]:
    """The package and what lies in it, but for what begins with an underscore."""
    yield package
    for name, module in sorted(package.modules.items()):
        if not (module.is_alias or name.startswith("_")):
            yield from _faces(module)


def _lines(module: griffe.Module) -> Iterator[str]:
    for name in sorted(module.exports or ()):
        if str(name) not in module.all_members:  # made when it is asked for
            yield f"{module.path}.{name}"
            continue
        thing = module[str(name)]
        if thing.is_alias:
            thing = thing.final_target
        yield from _described(f"{module.path}.{name}", thing)


def _described(name: str, thing: griffe.Object | griffe.Alias) -> Iterator[str]:
    if thing.is_function:
        yield f"{name}{_signature(thing)}"
    elif thing.is_class:
        bases = ", ".join(str(base).rpartition(".")[2] for base in thing.bases)
        yield f"class {name}({bases})"
        for member, inner in sorted(thing.members.items()):
            if member.startswith("_") and member != "__init__":
                continue
            if inner.is_function or inner.is_attribute:
                yield from _described(f"{name}.{member}", inner)
    elif thing.is_attribute:
        yield f"{name}: {thing.annotation}" if thing.annotation else name


def _signature(function: griffe.Object | griffe.Alias) -> str:
    parameters = []
    for parameter in function.parameters:
        mark = {"variadic positional": "*", "variadic keyword": "**"}.get(parameter.kind.value, "")
        default = f" = {parameter.default}" if parameter.default is not None and not mark else ""
        kind = " (by name)" if parameter.kind.value == "keyword-only" else ""
        parameters.append(f"{mark}{parameter.name}: {parameter.annotation}{default}{kind}")
    return f"({', '.join(parameters)}) -> {function.returns}"


if __name__ == "__main__":
    print("\n".join(public_api()))
