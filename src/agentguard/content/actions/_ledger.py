"""The ledger: the calls of a session, and what each of them did."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import orjson

from agentguard._linear_patterns import LinearPattern
from agentguard.content._outcomes import Outcome, outcome_of
from agentguard.content._patterns import compiled, read_table
from agentguard.content._results import text_of
from agentguard.content._text import encodable
from agentguard.content.actions._acts import GENERIC, LOOKING, Meaning, acts_of_base, verb_acts
from agentguard.content.actions._compared import Text, Texts
from agentguard.content.actions._endings import Ending, ending_of
from agentguard.content.actions._english import base, bases, is_past, words
from agentguard.content.actions._shell import commands_in
from agentguard.content.actions._tools import PROGRAMS, Ability, Tool, ability_of, bases_of, pieces_of

MOST_CALLS: Final = 500
MOST_CHARACTERS: Final = 10_000  # of a call's arguments, and of its result, that are read
#: The act of a command that has a step of which nothing is known.
UNKNOWN: Final = frozenset({"anything"})
_STEP: Final = re.compile(r"&&|\|\||[;|\n]")
_LINES: Final = frozenset("command cmd commands".split())  # arguments that are lines of a shell
#: Programs that run what their arguments say, in words.
_TOLD: Final = frozenset("psql mysql sqlite3 python python3 node ruby perl curl http wget redis-cli mongosh".split())
_WRITES: Final = re.compile(r"(?<![<>&\d-])>>?\s*[\w./~]")
_SCRIPTS: Final = frozenset("command cmd c commands script code src".split())  # arguments that have steps
#: Arguments that are a program only where the tool does what its arguments say: a mail has a body, too.
_PROSE: Final = frozenset("body prompt path url ref".split())
_OF_ANOTHER_TIME: Final = frozenset("at on by date time until from".split())  # the last words of names of fields
_PLAIN: Final = re.compile(r"[a-z][a-z-]+")
MOST_SUBCOMMANDS: Final = 3  # words behind a program that may say what it is to do
_CALLED = re.compile(r"\.(\w+)\(")  # a method: "slack.dm("
_WORD = re.compile(r"[A-Za-z]+|\d+")


class Call(NamedTuple):
    """A call that was made.

    Attributes:
        tool: its name.
        args: the arguments, as JSON has them.
        result: what it returned: JSON, or text; of a failed call the error.
        failed: the agent's framework says that it failed.
    """

    tool: str
    args: Any = None
    result: Any = None
    failed: bool = False


class Deed(NamedTuple):
    """A call, read for its acts.

    Attributes:
        number: its place in the ledger.
        call: the call.
        ability: of its tool.
        acts: what it surely is, by its tool's name and the commands in its arguments.
        verbs: the bases of the verbs by which it is: of its tool's name, and of the subcommands in its arguments.
        also: what it may be, by any word of it.
        said, told: the bases of all words of its arguments, and of its result.
        args, result: the texts of both.
        ending: how it came out, as claims are held against it.
        outcome: the same, as the call itself says it.
        texts: as claims are compared with them.
        effects: the bases of the participles by which its result says what was done with it: ``cancellationsSent``.
    """

    number: int
    call: Call
    ability: Ability
    acts: frozenset[str]
    verbs: frozenset[str]
    also: frozenset[str]
    said: frozenset[str]
    told: frozenset[str]
    args: str
    result: str
    ending: Ending
    outcome: Outcome
    texts: Texts
    effects: frozenset[str] = frozenset()


def looks(deed: Deed) -> bool:
    """Tell whether a call only looked at something."""
    acts = deed.acts - {"run"}
    return bool(acts) and acts <= LOOKING


def has_effect(deed: Deed, meaning: Meaning) -> bool:
    """Tell whether a verb is such an act as a call's result says that was done with it."""
    if meaning.bases & deed.effects:
        return True
    return any(verb_acts(word) & meaning.acts - GENERIC for word in deed.effects)


def deed_of(number: int, call: Call, ability: Ability) -> Deed:
    """Read a call of a tool with this ability."""
    call = call._replace(result=_parsed(call.result))
    args, result = as_text(call.args), as_text(call.result)
    said, told = _bases(args), _bases(result)
    names = {str(name).casefold() for name in call.args} if isinstance(call.args, Mapping) else set()
    acts, verbs = ability.acts, ability.verbs
    if _operation(call.args) in words("looks"):
        acts = frozenset({"read"})  # issue(op="get")
    if ability.general or not acts or PROGRAMS & names - _PROSE:
        acts |= commanded(_run(call.args))
        # A tool that has its program's name: git(args="log -1").
        programs = [f"{encodable(call.tool)} {_values(call.args)}"] if "args" in names else []
        for step in (*programs, *_steps(call.args)):
            acts |= commanded(step) - {"run"} or subcommanded(step) or UNKNOWN
            verbs |= bases_of(word for word in _subcommands(step) if verb_acts(word))
    if not acts and (set(pieces_of(call.tool)[-1:]) & words("looks") or _only_looks(call.args)):
        acts = frozenset({"read"})  # "train.status"
    also = frozenset(act for each in said | told for act in acts_of_base(each)) | ability.also
    ending = ending_of(call.failed, args, call.result, result, ability.verbs)
    outcome = outcome_of(call.args, call.result, call.failed, ability.verbs | set(pieces_of(call.tool)))
    # A runner's summary, a code or a field says so; of states and words, this module's own reading knows more.
    if outcome.sure and outcome.state in ("failed", "nothing") and ending.outcome == "done" and ":" not in outcome.why:
        ending = Ending(outcome.state, outcome.why, True, outcome.undone)
    texts = Texts(Text(args, said), Text(result, told), ability.names)
    effects = frozenset(_effects(call.result)) if acts - {"run"} - LOOKING else frozenset()
    return Deed(number, call, ability, acts, verbs, also, said, told, args, result, ending, outcome, texts, effects)


def _effects(result: Any) -> Iterator[str]:
    """The bases of the participles that the fields of a result are named by, or that their values are.

    >>> sorted(_effects({"cancellationsSent": 12, "old_ticket": "voided", "mailed": False, "created_at": "9:00"}))
    ['send', 'void']
    """
    for name, value in leaves(result) if isinstance(result, Mapping) else ():
        *_, last = pieces_of(name) or [""]
        if value and last not in _OF_ANOTHER_TIME and str(value).casefold() not in ("false", "no", "none", "0"):
            said = str(value).casefold()
            yield from (base(piece) for piece in (*pieces_of(name), said) if piece.isalpha() and is_past(piece))


def deeds(
    calls: Sequence[Call],
    tools: Mapping[str, Tool],
    able: Callable[[Tool], Ability] = ability_of,
    read: Callable[[int, Call, Ability], Deed] = deed_of,
) -> Iterator[Deed]:
    """Read the last ``MOST_CALLS`` calls.

    Args:
        calls: the calls.
        tools: the tools, by their names.
        able: reads a tool, or knows it.
        read: reads a call by its number, or knows it.
    """
    abilities: dict[str, Ability] = {}
    first = max(0, len(calls) - MOST_CALLS)
    for number, call in enumerate(calls[first:], first):
        ability = abilities.get(call.tool)
        if ability is None:
            given = tuple(map(str, call.args)) if isinstance(call.args, Mapping) else ()
            ability = abilities[call.tool] = able(tools.get(call.tool) or Tool(call.tool, "", given))
        yield read(number, call, ability)


def _parsed(result: Any) -> Any:
    """A result, read as JSON where it is the text of an object or a list."""
    if isinstance(result, str) and result.lstrip()[:1] in ("{", "[") and len(result) <= MOST_CHARACTERS:
        try:
            return orjson.loads(result)
        except orjson.JSONDecodeError:
            pass
    return result


def as_text(value: Any) -> str:
    """The beginning of a value as text: JSON, but for a text."""
    if not isinstance(value, str):
        try:
            value = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        except (TypeError, ValueError, RecursionError):
            value = text_of(value)
    return encodable(value[:MOST_CHARACTERS])


def commanded(text: str) -> frozenset[str]:
    """The acts of the commands, statements and requests in a text.

    >>> sorted(commanded("git commit -m 'x' && git push")), sorted(commanded("DELETE FROM users"))
    (['commit', 'push'], ['delete'])
    """
    by_pattern = frozenset(act for act, pattern in _commands() if pattern.search(text) is not None)
    called = {piece for name in _CALLED.findall(text) for piece in pieces_of(name)}
    return by_pattern.union(*(verb_acts(piece) for piece in called))


def subcommanded(step: str) -> frozenset[str]:
    """The acts of the verbs that a step of a command gives its program.

    >>> sorted(subcommanded("certbot renew --cert-name a")), sorted(subcommanded("./deploy.sh"))
    (['extend', 'rotate'], [])
    """
    told = _subcommands(step)
    if bases_of(told) & bases("looks"):
        return frozenset({"read"})  # "gh pr checks 7" reads what others checked
    return frozenset(act for word in told for act in verb_acts(word))


def _subcommands(step: str) -> list[str]:
    """The words behind a program that say what it is to do."""
    return list(itertools.takewhile(_PLAIN.fullmatch, step.split()[: 1 + MOST_SUBCOMMANDS]))[1:]


@cache
def _commands() -> tuple[tuple[str, LinearPattern], ...]:
    table = read_table(__package__, "commands.ini")
    return tuple((act, compiled(f"(?im){table[act]['pattern']}")) for act in table.sections())


def _operation(args: Any) -> str:
    """The word by which arguments say which of its deeds a tool is to do; "" where none does."""
    if isinstance(args, Mapping):
        for name, value in args.items():
            if str(name).casefold() in ("op", "operation", "action") and isinstance(value, str) and value.isalpha():
                return value.casefold()
    return ""


def _steps(args: Any) -> Iterator[str]:
    """The steps of the commands in arguments: "make && ./deploy.sh" are two."""
    if isinstance(args, Mapping):
        for name, value in args.items():
            if str(name).casefold() in _SCRIPTS and isinstance(value, str):
                if str(name).casefold() in _LINES:
                    yield from _commands_of(value)
                else:
                    yield from filter(str.strip, _STEP.split(encodable(value[:MOST_CHARACTERS])))


def _run(args: Any) -> str:
    """Return the texts of the arguments, a line each; of a command line the commands that it runs, without quotations.

    >>> _run({"command": "git commit -qm 'push it' && git push --help"})
    'git commit commit -qm'
    """
    if not isinstance(args, Mapping):
        return _values(args)
    lines = {name: value for name, value in args.items() if str(name).casefold() in _LINES and isinstance(value, str)}
    rest = _values({name: value for name, value in args.items() if name not in lines})
    return "\n".join([*([rest] if rest else []), *(each for line in lines.values() for each in _commands_of(line))])


def _only_looks(args: Any) -> bool:
    """The command lines in arguments run nothing that does more than look."""
    if not isinstance(args, Mapping):
        return False
    lines = [value for name, value in args.items() if str(name).casefold() in _LINES and isinstance(value, str)]
    return bool(lines) and not any(each for line in lines for each in _commands_of(line))


def _commands_of(line: str) -> Iterator[str]:
    commands = commands_in(line)
    if not commands and line.strip():
        yield encodable(line[:MOST_CHARACTERS])  # no line of a shell
    for command in commands:
        told = command.words[0] in _TOLD
        if not command.looks:
            said = [word for word in command.words[1:] if told or " " not in word]
            yield encodable(" ".join([command.deed, *said]))
        elif _WRITES.search(line):
            yield "> file"  # what it prints is written


def _values(args: Any) -> str:
    """The texts of the arguments, a line each, without their names."""
    if not isinstance(args, Mapping):
        return as_text(args)
    texts = (value if isinstance(value, str) else text_of(value) for value in args.values())
    return encodable("\n".join(texts)[:MOST_CHARACTERS])


def _bases(text: str) -> frozenset[str]:
    found = _WORD.findall(text)
    return bases_of({piece for word in found for piece in (word.casefold(), *pieces_of(word))})


def lengths(value: Any, depth: int = 5) -> set[float]:
    """The lengths of the lists of a value, to some depth."""
    if depth < 0:
        return set()
    if isinstance(value, Mapping):
        return {length for held in list(value.values())[:100] for length in lengths(held, depth - 1)}
    if isinstance(value, (list, tuple)):
        return {float(len(value))} | {length for held in value[:50] for length in lengths(held, depth - 1)}
    return set()


def leaves(value: Any, name: str = "", depth: int = 5) -> Iterator[tuple[str, Any]]:
    """The single values of a value, to some depth, each with the name that it has."""
    if isinstance(value, Mapping) and depth:
        for key, held in list(value.items())[:100]:
            yield from leaves(held, str(key), depth - 1)
    elif isinstance(value, (list, tuple)) and depth:
        for held in value[:50]:
            yield from leaves(held, name, depth - 1)
    else:
        yield name, value
