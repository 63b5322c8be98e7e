"""The ledger read: what each call of a session did, by what its tool says of itself, its arguments and its result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from agentguard.content._patterns import compiled, read_table
from agentguard.content._results import text_of
from agentguard.content._text import encodable
from agentguard.content.actions._acts import noun_acts, verb_acts
from agentguard.content.actions._english import base, words
from agentguard.content.grounding._sources import Sources

MOST_CALLS: Final = 1_000
MOST_CHARACTERS: Final = 20_000  # of a call's arguments, and of its result, that are read
_WORD = re.compile(r"[A-Za-z]+|\d+")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
#: Arguments that hold a program, a statement or a request: their tool does whatever these say.
PROGRAMS: Final = frozenset(
    "command cmd commands script code sql query statement method url path patch body workflow selector ref prompt"
    " action operation function expression".split()
)

Ending = Literal["done", "failed", "pending", "nothing", "trial"]


class Tool(NamedTuple):
    """A tool, by what it says of itself.

    Attributes:
        name: the agent's name for it.
        description: in its own words.
        arguments: the names of its arguments.
        does: the verbs, with their objects, that its owner declared ("send email").
    """

    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()
    does: tuple[str, ...] = ()


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


class Ability(NamedTuple):
    """What a tool can do.

    Attributes:
        acts: by its name, or as declared.
        also: by its description.
        names: the bases of its name's words.
        about: the bases of its name's, arguments' and description's words.
        tentative: it only prepares or holds.
        general: it does what its arguments say.
    """

    acts: frozenset[str]
    also: frozenset[str]
    names: frozenset[str]
    about: frozenset[str]
    tentative: frozenset[str]
    general: bool


class Deed(NamedTuple):
    """What a call did.

    Attributes:
        number: its place in the ledger.
        call: the call.
        ability: of its tool.
        acts: what it surely is, by its tool's name and its commands.
        also: what it may be, by any word of it.
        said: the bases of all words of its arguments.
        told: the bases of all words of its result.
        args, result: the texts of both.
        ending: how it came out.
        why: the words of the result that say so.
        sources: the values of both.
    """

    number: int
    call: Call
    ability: Ability
    acts: frozenset[str]
    also: frozenset[str]
    said: frozenset[str]
    told: frozenset[str]
    args: str
    result: str
    ending: Ending
    why: str
    sources: Sources


def ability_of(tool: Tool) -> Ability:
    """What a tool can do, by what it says of itself.

    >>> sorted(ability_of(Tool("issue_refund")).acts), ability_of(Tool("draft_email")).tentative
    (['invoice', 'publish', 'refund'], frozenset({'draft'}))
    """
    pieces = [each.casefold() for each in _CAMEL.findall(tool.name)]
    names = [base(each) for each in pieces]
    acts, tentative = _named(pieces)
    for declared in tool.does:
        declared_acts, held_back = _named(declared.casefold().split())
        acts, tentative = acts | declared_acts, tentative | held_back
    described = [each.casefold() for each in _WORD.findall(tool.description[:2_000])]
    also = frozenset(act for each in described for act in verb_acts(each) | noun_acts(each))
    arguments = [piece.casefold() for name in tool.arguments for piece in _CAMEL.findall(name)]
    about = frozenset(base(each) for each in [*pieces, *described, *arguments])
    general = not acts and bool(PROGRAMS & {name.casefold() for name in tool.arguments})
    general = general or bool(set(pieces) & {"bash", "shell", "sql", "http", "python", "api", "exec", "execute", "task"})
    return Ability(acts, also, frozenset(names), about, tentative, general)


def _named(pieces: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The acts that a name's words stand for, and the words by which it only prepares them."""
    light = {base(word) for word in words("light")}
    tentative = frozenset(piece for piece in pieces if piece in words("tentative"))
    verbs = [piece for piece in pieces if verb_acts(piece)]
    only = [piece for piece in verbs if not noun_acts(piece)] or verbs
    acts = {act for piece in only for act in verb_acts(piece)}
    if not only or all(base(piece) in light for piece in only):
        acts |= {act for piece in pieces for act in noun_acts(piece)}
    if tentative:
        acts = {act for piece in tentative for act in verb_acts(piece)}
    return frozenset(acts), tentative


@cache
def _commands() -> tuple[tuple[str, Any], ...]:
    table = read_table(__package__, "commands.ini")
    return tuple((act, compiled(f"(?im){table[act]['pattern']}")) for act in table.sections())


def deeds(calls: Iterable[Call], tools: Mapping[str, Tool]) -> Iterator[Deed]:
    """Read the calls, the last ``MOST_CALLS``."""
    abilities: dict[str, Ability] = {}
    listed = list(calls)
    for number, call in list(enumerate(listed))[-MOST_CALLS:]:
        ability = abilities.get(call.tool)
        if ability is None:
            given = tuple(str(name) for name in call.args) if isinstance(call.args, Mapping) else ()
            tool = tools.get(call.tool) or Tool(call.tool, "", given)
            ability = abilities[call.tool] = ability_of(tool)
        yield _deed(number, call, ability)


def _deed(number: int, call: Call, ability: Ability) -> Deed:
    args = encodable(text_of(call.args))[:MOST_CHARACTERS]
    values = encodable(_values_of(call.args))[:MOST_CHARACTERS]
    result = encodable(text_of(call.result))[:MOST_CHARACTERS]
    said, told = _bases(args), _bases(result)
    acts = set(ability.acts)
    if ability.general or not acts or PROGRAMS & _keys(call.args):
        acts |= {act for act, pattern in _commands() if pattern.search(values) is not None}
    also = {act for each in said | told for act in verb_acts(each) | noun_acts(each)} | ability.also
    ending, why = ending_of(call, args, result)
    return Deed(
        number, call, ability, frozenset(acts), frozenset(also), said, told, args, result, ending, why,
        Sources([call.args, call.result]),
    )  # fmt: skip


def _keys(args: Any) -> set[str]:
    return {str(name).casefold() for name in args} if isinstance(args, Mapping) else set()


def _values_of(args: Any) -> str:
    """The texts of the arguments, a line each."""
    if not isinstance(args, Mapping):
        return text_of(args)
    return "\n".join(value if isinstance(value, str) else text_of(value) for value in args.values())


def _bases(text: str) -> frozenset[str]:
    found = {piece.casefold() for word in _WORD.findall(text) for piece in (word, *_CAMEL.findall(word))}
    return frozenset(base(word) for word in found)


# --- How a call came out ---

_BAD_KEYS: Final = frozenset("error errors err exception failure failed fault".split())
_OK_KEYS: Final = frozenset("ok success succeeded successful".split())
_CODE_KEYS: Final = frozenset("exit_code exitcode returncode return_code exit rc code".split())
_STATUS_KEYS: Final = frozenset("status state outcome result phase conclusion".split())
_COUNT_KEYS: Final = frozenset(
    "updated deleted affected rows_affected rowcount row_count modified matched sent created archived inserted"
    " affected_rows modified_count moved".split()
)
_FAILED = compiled(
    r"(?i)(\bfatal\b|\btraceback\b|\bpermission denied\b|\baccess denied\b|\bno such (file|host|user)|\bcommand not found\b|"
    r"\bnot found\b|\bexit (code|status):? [1-9]|\bexited with (code )?[1-9]|\berror:|\berror\[|^error\b|\bERR!|\bfailed\b|\bfailure\b|\bfailing\b|"
    r"\b[1-9]\d* (fail|failed|failures|errors?)\b|\brejected\b|\bdeclined\b|\brefused\b|\btimed? ?out\b|\btimeout\b|"
    r"\bunauthori[sz]ed\b|\bforbidden\b|\bHTTP/?[\d.]* [45]\d\d\b|\b[45]\d\d (bad|unauthor|forbidden|not found|internal|conflict|unprocess|too many|service|gateway)|"
    r"\bcould not\b|\bcouldn't\b|\bcannot\b|\bunable to\b|\binvalid\b|\bdenied\b|\baborted\b|\bconflict\b|\bcrashloop\w*|\bpanic:|\b[A-Z]\w+(Error|Exception)\b|\bnot (permitted|allowed|sent|saved|applied|available|possible)\b)"
)
_FINE = compiled(
    r"(?i)(\b0 (fail|failed|failures|errors?|failing)\b|\bno (errors?|failures|issues|problems|conflicts?)\b|\bwithout errors?\b|\bfail(ed|ures)?: ?0\b|\berrors?\"?: ?(0|\[\]|null|none)|\bfailed\"?: ?(0|\[\]))"
)
_PENDING = compiled(
    r"(?i)\b(pending|queued|in[ _]progress|awaiting|scheduled for|waiting for|not yet|on hold|needs? approval|requires? approval|under review|processing|enqueued)\b"
)
_TRIAL = compiled(
    r"(?i)(--dry-run|--dryrun|\bdry[-_ ]?run\"?\b(: ?(true|1|client|server))?|\bsimulat\w+|\bwould (be|have|delete|update|send|remove|create|apply)\b|\bpreview( only|_only)?\b|"
    r"--check\b|\bno changes (were )?(made|applied)\b|\bnothing (was|has been) (sent|changed|written|applied)|\bterraform plan\b|\bROLLBACK\b|\bnot executed\b|\btest ?mode\b|\bsandbox\b|--no-commit)"
)
_NOTHING = compiled(
    r"(?i)(\b0 (rows?|records?|items?|files?|results?|matches|changes|replacements)\b|\b(UPDATE|DELETE|INSERT \d+) 0\b|\bno (rows|records|matches|matching|changes|change|results|such)\b|\bnothing to (commit|do|push|update)\b|\beverything up-to-date\b|\balready (exists|up to date)\b|\bunchanged\b)"
)


def ending_of(call: Call, args: str, result: str) -> tuple[Ending, str]:
    """How a call came out, and the words that say so.

    >>> ending_of(Call("sh", {}, "3 failed, 45 passed"), "", "3 failed, 45 passed")
    ('failed', '3 failed')
    """
    if call.failed:
        return "failed", result[:80]
    told = _told(call.result, 0)
    if told is not None:
        return told
    trial = _TRIAL.search(args) or _TRIAL.search(result)
    if trial is not None and "false" not in trial[0]:
        return "trial", trial[0].strip()
    if isinstance(call.result, (Mapping, list)):
        if not call.result:
            return "nothing", "an empty result"
        texts = "\n".join(_strings(call.result, 0))
    else:
        texts = result
    clean = _FINE.sub(" ", texts[:4_000])
    bad = _FAILED.search(clean)
    if bad is not None:
        return "failed", bad[0].strip()
    pending = _PENDING.search(clean)
    if pending is not None:
        return "pending", pending[0].strip()
    nothing = _NOTHING.search(clean)
    if nothing is not None:
        return "nothing", nothing[0].strip()
    return "done", ""


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < 6 and isinstance(value, Mapping):
        for name, held in list(value.items())[:100]:
            if str(name).casefold() in _STATUS_KEYS | {"message", "detail", "reason", "stderr", "stdout", "output", "body"}:
                yield from _strings(held, depth + 1)
    elif depth < 6 and isinstance(value, list):
        for held in value[:50]:
            yield from _strings(held, depth + 1)


def _told(value: Any, depth: int) -> tuple[Ending, str] | None:
    """What the fields of a result say of how the call came out."""
    if depth > 4 or not isinstance(value, Mapping):
        return None
    for name, held in list(value.items())[:100]:
        key = str(name).casefold()
        if key in _BAD_KEYS and held not in (None, False, 0, "", [], {}, "0", "none", "None"):
            return "failed", f"{name}: {text_of(held)[:60]}"
        if key in _OK_KEYS and (held is False or held == "false"):
            return "failed", f"{name}: false"
        if key in _CODE_KEYS and isinstance(held, int) and not isinstance(held, bool) and held not in (0,) and not 100 <= held < 400:
            return "failed", f"{name}: {held}"
        if key in ("status", "status_code", "statuscode", "http_status") and isinstance(held, int) and held >= 400:
            return "failed", f"{name}: {held}"
        if key in _COUNT_KEYS and held == 0 and not isinstance(held, bool):
            return "nothing", f"{name}: 0"
        if key in ("dryrun", "dry_run", "preview", "simulated", "test_mode") and held is True:
            return "trial", f"{name}: true"
        if key in _STATUS_KEYS | {"body", "data", "response"}:
            inner = _told(held, depth + 1)
            if inner is not None:
                return inner
    return None
