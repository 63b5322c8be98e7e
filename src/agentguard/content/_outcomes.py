"""How a tool call came out, by its flags, counts and fields, and by the summaries that programs print.

Nothing here knows a language beyond the table in ``outcomes.ini``. Stronger evidence goes before weaker: flags, codes
and error fields; counts; fields of state; dry runs; summaries of runners; at last, words at the ends of a text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Collection, Iterator
from configparser import ConfigParser
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

import orjson
import re2

from agentguard._linear_patterns import LinearPattern, LinearSet
from agentguard.content._results import cut

State = Literal["done", "partly", "failed", "pending", "simulated", "nothing"]

MOST_FIELDS: Final = 100
DEEPEST: Final = 5
MOST_TEXT: Final = 1 << 16  # characters
HEAD: Final = 1 << 12  # characters of the beginning of a longer text; the rest of what is read is its end
SHORT: Final = 400  # characters of a text that may say no more than how a call came out
LINE: Final = 150  # characters at each end of a longer one that may
LONGEST_WHY: Final = 80
LONGEST_NAME: Final = 60  # characters of a name or a state
MOST_NAMES: Final = 4_096  # of fields and verbs that are remembered
MOST_ENTRIES: Final = 50  # of a list, and fields of each
MOST_MATCHES: Final = 200  # summaries of one form in a text
WORST_FIRST: Final[tuple[State, ...]] = ("failed", "partly", "pending", "nothing", "simulated")
IN_RUNS: Final[tuple[State, ...]] = ("failed", "pending", "done", "simulated", "nothing")
IN_WORDS: Final[tuple[State, ...]] = ("simulated", "failed", "pending", "partly", "nothing")

_EMPTY: Final[tuple[Any, ...]] = (None, False, 0, "", [], {}, "0", "none", "None", "null", "no", "false")
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDING = re.compile(r"(?:ations?|ions?|ings?|ied|ies|ed|es|als?|ments?|s)$")
_PAST: Final = ("ed", "en", "ions", "als")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SEGMENT = re.compile(r"&&|\|\||[;\n|]")
_REMOTE = re.compile(r"(?s)^\s*(?:ssh|bash|sh|zsh)\b[^'\"]*(['\"])(.*)\1\s*$")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_NUMBER = re.compile(r"(\d+) (\w+)")
_CJK = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_FIRST = re.compile(r"\W{0,3}([^\W\d]+(?:[ _-][^\W\d]+){0,2}?)(?=\s*(?:$|[:.;,!()\[\]]|- ))")  # "WAITLISTED" and a mark
_AROUND = re.compile(r"^[= ]+| in [\d.]+ ?m?s\b.*$|[= ]+$")  # what a summary stands between


class Outcome(NamedTuple):
    """How a call came out.

    Attributes:
        state: in a word. A run of tests of which some failed is ``failed``; ``partly`` was done to some and not to
            others; ``nothing`` ran and changed or tested nothing; ``simulated`` only showed what it would do.
        why: the field, code, line or word that says so; "" where it was done.
        sure: a flag, code, count, field or the summary of a runner says so; False: a word somewhere in a text does, or
            nothing says anything.
        done: how many things were done, where the result counts them.
        left: how many were not.
        undone: the text that names what was not done; "" where none does.
    """

    state: State
    why: str = ""
    sure: bool = False
    done: int | None = None
    left: int | None = None
    undone: str = ""


def outcome_of(args: Any, result: Any, failed: bool = False, verbs: Collection[str] = ()) -> Outcome:
    """Tell how a call came out.

    Args:
        args: its arguments, which may ask for a dry run.
        result: its result, of any kind.
        failed: its framework says that it failed.
        verbs: words of what its tool does, as the words of its name: a field named by a form of one says whether it was
            done, and a state named by one is what was asked for. A tool that only looks (``get``, ``list``) is not
            judged by what it returns, unless that reports an error.

    >>> outcome_of({"zone": "house"}, {"zone": "house", "armed": False}, verbs=["alarm", "arm"])[:3]
    ('nothing', 'armed: false', True)
    >>> outcome_of({"command": "pytest -q"}, "2 failed, 7 passed in 0.52s")[:5]
    ('failed', '2 failed, 7 passed', True, 7, 2)
    """
    try:
        outcome = _Reading(args, verbs).outcome(result)
    except RuntimeError:  # another thread changed it meanwhile
        outcome = Outcome("done")
    if not failed:
        return outcome
    return outcome._replace(state="failed", why=outcome.why or _line(result) or "failed", sure=True)


class _Reading:
    """One call: what has been found so far of how it came out."""

    def __init__(self, args: Any, verbs: Collection[str]) -> None:
        self.verbs = {verb[:LONGEST_NAME].casefold() for verb in islice(verbs, MOST_FIELDS) if isinstance(verb, str)}
        self.stems = frozenset[str]().union(*map(_stems, self.verbs))
        args = _known(args)
        self.given = dict(islice(_flat(args, 0), MOST_FIELDS))
        told = [args] if isinstance(args, str) else [self.given[key] for key in self.given if key in _names("commands")]
        texts = (" ".join(map(str, each[:MOST_FIELDS])) if isinstance(each, list) else each for each in told)
        self.command = _bounded("\n".join(text[:HEAD] for text in texts if isinstance(text, str)))
        self.segments = _SEGMENT.split(_QUOTED.sub(" ", _REMOTE.sub(r"\2", self.command)))[:MOST_FIELDS]
        programs = {next(iter(segment.split(maxsplit=1)), "") for segment in self.segments} - {""}
        writes = self.command and _set("lines")[1]["writes"].search(self.command)
        self.looks = not (writes or self.is_any("acts")) and self.is_any("looks")
        self.looks |= bool(programs) and programs <= _names("readers")
        self.fields = MOST_FIELDS  # how many more are read
        self.seen: dict[str, str] = {}  # by states, and "flag", "short", "left", "zero": the first text that says so
        self.texts: list[str] = []
        self.undone: list[str] = []
        self.done: int | None = None
        self.left: int | None = None
        self.good = False  # a flag, a code or a state says that it went well

    def is_any(self, kind: str) -> bool:
        return not self.verbs.isdisjoint(_words("verbs", kind))

    # --- Fields ---

    def text(self, text: str) -> None:
        """Take a text, or read the JSON that it holds."""
        if text[:100].lstrip()[:1] in ("{", "[") and len(text) <= MOST_TEXT:
            try:
                return self.walk(orjson.loads(text))
            except ValueError:
                pass
        self.texts.append(text)

    def walk(self, root: Any) -> None:
        """Read the fields of an object, and of the envelopes inside of it, outer ones first."""
        queue = deque([(root, 0)])
        while queue and self.fields > 0:
            value, depth = queue.popleft()
            if isinstance(value, list):
                self.entries(value, depth == 0)
            for name, held in islice(value.items(), self.fields) if isinstance(value, dict) else ():
                self.fields -= 1
                if isinstance(name, str):
                    field, held = _name(name[:LONGEST_NAME]), _known(held)
                    self.field(name[:LONGEST_NAME], field, held)
                    inner = len(value) == 1 or "envelope" in field.roles or (type(held) is list and not self.looks)
                    if inner and isinstance(held, (dict, list)) and depth < DEEPEST:
                        queue.append((held, depth + 1))

    def note(self, kind: str, name: str, held: Any) -> None:
        self.seen.setdefault(kind, f"{name}: {_shown(held)}")

    def miss(self, kind: str, name: str, held: Any, count: int) -> None:
        """Count what was not done."""
        if count > 0:
            self.note(kind, name, held)
            self.left = max(self.left or 0, count)
            self.undone += [_shown(held, SHORT)] if isinstance(held, list) else []

    def field(self, name: str, field: _Name, held: Any) -> None:
        """Read a field."""
        roles, false = field.roles, _is_false(held)
        count = len(held) if isinstance(held, list) else held if type(held) is int else None
        later = "later" in roles and not (self.looks or self.is_any("prepares") or self.is_own(field, held))
        if "error" in roles and held not in _EMPTY and count is not None:
            self.miss("short", name, held, count)
        elif "error" in roles and held not in _EMPTY:
            self.note("flag", name, held)
            self.undone.append(_shown(held, SHORT))
        elif (
            (false and ("success" in roles or later))
            or ("code" in roles and type(held) is int and held)
            or ("http" in roles and _http(held) >= 400)
            or ("stopped" in roles and held is True and not self.stems & field.stems)
        ):
            self.note("flag", name, held)
        elif ("code" in roles and held == 0) or (held is True and roles & {"success", "later"}):
            self.good = True
        elif "background" in roles and held:
            self.note("pending", name, held)
        elif self.looks or "error" in roles:
            self.texts += [held] if "text" in roles and isinstance(held, str) else []
        elif isinstance(held, str) and not false:
            self.named(name, field, held)
        elif roles or field.state or self.stems & field.stems or held == []:
            self.told(name, field, held, count)

    def told(self, name: str, field: _Name, held: Any, count: int | None) -> None:
        """Read a flag, number or list of a tool that does something: what was done, or not."""
        own, some = self.is_own(field, held), held is True or (count or 0) > 0
        counts = own or "counted" in field.roles
        meant = self.stems & field.stems or self.given.get(field.key) == held
        if "left" in field.roles and held is not True:
            self.miss("left", name, held, count or 0)
        elif field.state == "failed" and count and not meant:
            self.miss("short", name, held, count)
        elif (counts or field.state == "done") and some:
            self.done = max(self.done or 0, count or 0) or None
            self.good |= held is True
        elif (
            (counts and count == 0)
            or (own and (held is None or _is_false(held)))
            or (held == [] and self.given.get(field.key))
        ):
            self.note("zero", name, held)
        elif held is True and {"asked", "asking"} <= field.roles:
            self.note("pending", name, held)
        elif field.state not in (None, "done") and some and not meant:
            self.note(field.state, name, held)

    def named(self, name: str, field: _Name, held: str) -> None:
        """Read a field that holds a text of a tool that does something: a state, or words about one."""
        named = "state" in field.roles
        state = _state_of(held) if named or "titles" not in field.roles else None
        if self.given.get(field.key) == held or (state and self.is_meant(held, state)) or (named and state == "done"):
            self.good |= named  # also as it was asked for
        elif state not in (None, "done") and (
            named or (state in ("pending", "partly") and held not in self.given.values())
        ):
            self.note(state, name, held)
        elif named or "text" in field.roles:
            self.text(held)

    def is_own(self, field: _Name, held: Any) -> bool:
        """Tell whether a field is named by a form of what the tool does: "emptied" of ``empty``.

        A bare verb is one only where it is the whole name, and no argument has that name.
        """
        if not self.stems & field.stems or "aside" in field.roles or field.key in self.given:
            return False
        words = [word for word in field.words if _stem(word) in self.stems]
        if any(word.endswith(_PAST) and word not in self.verbs for word in words):
            return held is not None or len(field.words) == 1
        return bool(words) and len(field.words) == 1 and (held is False or isinstance(held, (int, list)))

    def is_meant(self, text: str, state: State | None = None) -> bool:
        """Tell whether a state is what the tool does: "cancelled" of ``cancel``, "queued" of ``trigger``."""
        words = {word for word in _name(text[:LONGEST_NAME]).words if word in _table()}
        return any(_stems(word) & self.stems for word in words) or (
            state == "pending" and not {"draft", "hold"} & words and self.is_any("begins")
        )

    def entries(self, entries: list[Any], outermost: bool) -> None:
        """Read how each entry of a list came out: those that failed beside those that did not."""
        bad = []
        for each in map(_known, entries[:MOST_ENTRIES]):
            if isinstance(each, dict) and isinstance(each.get("text"), str) and "type" in each:
                self.text(each["text"])  # a block of content
            elif isinstance(each, str) and outermost:
                self.texts.append(each)
            elif isinstance(each, dict) and not self.looks and _is_bad(each):
                bad.append(_shown(each, SHORT))
        if bad:
            self.seen.setdefault("short", bad[0][:LONGEST_WHY])
            self.left, self.undone = max(self.left or 0, len(bad)), bad
            self.done = max(self.done or 0, len(entries) - len(bad)) or None

    # --- What follows from it ---

    def outcome(self, result: Any) -> Outcome:
        """Read a result, and tell how the call came out: the strongest evidence first."""
        result = _known(result)
        (self.text if isinstance(result, str) else self.walk)(result)
        text = _bounded("\n".join(self.texts))
        run = _summary(text, self.command) if text and (not self.looks or len(text) <= SHORT) else None
        ends = text if len(text) <= SHORT else f"{text[:LINE]}\n{text[-LINE:]}"
        found = _hits("ends", ends) if ends else {}
        self.codes(ends, found)
        seen, undone = self.seen, "\n".join(self.undone)[:SHORT]
        made = Outcome("done", "", self.good or self.done is not None, self.done, self.left, undone)
        bad = [seen[kind] for kind in ("flag", "short", "left") if kind in seen]
        if bad:
            partly = self.done or seen.keys().isdisjoint({"flag", "short", "zero", "failed"})
            made = made._replace(state="partly" if partly else "failed", why=bad[0], sure=True)
            if run and self.done is None and self.left is None:
                why = run.why if run.state == "failed" else made.why
                made = made._replace(why=why, done=run.done, left=run.left, undone=undone or run.undone)
            return made
        if "zero" in seen and not self.done:
            return made._replace(state="nothing", why=seen["zero"], sure=True, done=0)
        if "simulated" not in seen and (trial := self.trial()):
            seen["simulated"] = trial
        for state in WORST_FIRST:
            if state in seen:
                return made._replace(state=state, why=seen[state], sure=True)
        told = run or (_by_words(ends, self, len(text) <= SHORT, found) if ends.strip() else None)
        return told._replace(done=self.done if told.done is None else told.done) if told else made

    def codes(self, ends: str, found: dict[str, LinearPattern]) -> None:
        """Read the codes that a program or a server ended with, at the ends of a text."""
        statuses = list(_some(found["http"], ends)) if "http" in found else []
        bad = next((found[name].search(ends) for name in ("bad", "reason") if name in found), None)
        if bad or (statuses and int(statuses[-1][1]) >= 400):  # of several, each before the last led elsewhere
            self.seen.setdefault("flag", _line((bad or statuses[-1])[0]))
        self.good |= "good" in found

    def trial(self) -> str:
        """What of the arguments asks for a dry run; "" for nothing, and where a program is run in earnest beside it."""
        for key, held in self.given.items():
            value = str(held).casefold() if isinstance(held, (str, bool)) else ""
            if (key in _names("trials") and value in _names("yes")) or (key == "mode" and value in _names("modes")):
                return f"{key}: {value}"
        dry: dict[str, str] = {}
        earnest: set[str] = set()
        for segment in self.segments:
            program = next(iter(segment.split(maxsplit=1)), "")
            match = None if program in _names("quoting") else _set("lines")[1]["command"].search(segment.strip())
            dry.update({program: _line(match[0])} if match else {})
            earnest.update(() if match else {program})
        runs = [found for program, found in dry.items() if program not in earnest]
        match = _set("lines")[1]["code"].search(self.command) if self.command and not runs else None
        return _line(match[0]) if match else "".join(runs[:1])


def _is_bad(entry: dict[Any, Any]) -> bool:
    """Tell whether an entry of a list says that it failed."""
    for name, held in islice(entry.items(), MOST_ENTRIES):
        roles = _name(name[:LONGEST_NAME]).roles if isinstance(name, str) else frozenset[str]()
        state = _state_of(held) if "state" in roles and isinstance(held, str) else None
        if ("error" in roles and held not in _EMPTY) or ("success" in roles and _is_false(held)) or state == "failed":
            return True
    return False


# --- Texts ---


def _summary(text: str, command: str) -> Outcome | None:
    """What the summaries of runners in a text say together; None where it has none."""
    done = left = None
    seen: dict[str, str] = {}
    refs = set()
    for name, form in _hits("runs", text).items():
        group, runner = name.split(".")
        if runner.endswith("?") and command and runner[:-1] not in command:
            continue
        for match in _some(form, text):
            kind = group
            if group == "counted":
                told = _numbers(match)
                done = (done or 0) + told["done"] if "done" in told else done
                left = (left or 0) + told["left"] if "left" in told else left
                none = "nothing" if "done" in told or "idle" in told else "built"
                kind = "failed" if told.get("left") else "done" if told.get("done") else none
                refs.add(kind if runner == "refs" else "")
            seen.setdefault(kind, _AROUND.sub("", _line(match[0])))
    state = next((kind for kind in IN_RUNS if kind in seen), IN_RUNS[2])
    if state == "failed":
        undone = "\n".join(match[0].strip() for match in _some(_set("lines")[1]["undone"], text))[:SHORT]
        return Outcome("partly" if refs == {"done", "failed"} else state, seen[state], True, done, left, undone)
    return Outcome(state, seen[state] if state != "done" else "", True, done, left) if seen else None


def _numbers(match: re.Match[Any]) -> dict[str, int]:
    """Read the numbers of a summary: by the names of its groups, or by the words after them."""
    named = [(name.rstrip("23"), held) for name, held in match.groupdict().items() if held is not None]
    if not named:
        words = {word: kind for kind in ("done", "left", "idle") for word in _words("counts", kind)}
        named = [(words[word], number) for number, word in _NUMBER.findall(match[0]) if word in words]
    told: dict[str, int] = {}
    for kind, held in named:
        told[kind] = told.get(kind, 0) + (int(held[:9]) if held.isdecimal() else 1)
    if "total" in told:
        told.setdefault("done", max(0, told["total"] - told.get("left", 0) - told.get("idle", 0)))
    return told


def _by_words(ends: str, call: _Reading, is_short: bool, found: dict[str, LinearPattern]) -> Outcome | None:
    """Tell by the words of a short text, or of the ends of a long one, how a call came out; None where none says."""
    text = found["fine"].sub(" ", ends) if "fine" in found else ends
    first = _FIRST.match(text)
    state = _state_of(first[1]) if first and is_short and not call.looks else None
    if first and state not in (None, "done") and not (call.good and state == "failed"):
        return None if call.is_meant(first[1], state) else Outcome(state, _line(text), True)
    match = found["error"].search(text) if "error" in found else None
    if match and (call.looks or not call.good) and not call.is_meant(match[0]):
        return Outcome("failed", _line(text[match.start() :]), is_short)
    for kind in () if call.looks else IN_WORDS:
        for form in (found[name] for name in (kind, f"foreign {kind}") if name in found):
            for match in _some(form, text):
                if kind == "partly":
                    part, whole = (int(each) for each in match.groups() if each)
                    if part < whole:
                        return Outcome("partly", f"{part} of {whole}", False, part, whole - part)
                elif not call.is_meant(match[0]) and not (call.good and kind == "failed"):
                    bad = [line for line in text.split("\n") if kind == "failed" and form.search(line)]
                    well = [
                        line for line in text.split("\n") if line not in bad and _set("lines")[1]["well"].search(line)
                    ]
                    if kind == "nothing" and well:
                        return None
                    if bad and well:
                        return Outcome("partly", _line(bad[0]), False, len(well), len(bad), "\n".join(bad)[:SHORT])
                    return Outcome(kind, _line(text[text.rfind("\n", 0, match.start() + 1) + 1 :]))
    return None


# --- The data ---


@cache
def _ini() -> ConfigParser:
    parser = ConfigParser(interpolation=None, delimiters=("=",))
    parser.read_string(files(__package__).joinpath("outcomes.ini").read_text(encoding="utf-8"))
    return parser


@cache
def _rows() -> list[tuple[State, str, str]]:
    """The state, the language and a word of each cell of the table."""
    head, *rows = ([cell.strip() for cell in row.split("|")] for row in _ini()["states"]["table"].strip().splitlines())
    cells = [(row[0], language, cell) for row in rows for language, cell in zip(head[1:], row[1:], strict=True)]
    states: dict[str, State] = {state: state for state in (*IN_RUNS, *IN_WORDS)}
    return [(states[state], language, word.strip()) for state, language, cell in cells for word in cell.split(",")]


@cache
def _table() -> dict[str, State]:
    return {_plain(word): state for state, _, word in _rows()}


@cache
def _words(section: str, name: str) -> frozenset[str]:
    return frozenset(_ini()[section][name].split())


def _names(name: str) -> frozenset[str]:
    return _words("fields", name)


@cache
def _set(section: str) -> tuple[LinearSet, dict[str, LinearPattern]]:
    """The patterns of a section, and a set that tells in one pass which of them a text has."""
    patterns = {name: f"(?m){pattern}" if section == "runs" else pattern for name, pattern in _ini()[section].items()}
    for kind in ("failed", "pending") if section == "ends" else ():
        words = {word.casefold() for state, language, word in _rows() if state == kind and language != "en"}
        words -= {word for _, language, word in _rows() if language == "en"} | _words("negations", "english")
        spaced = "|".join(sorted(word for word in words if len(word) > 4 and not _CJK.search(word)))
        joined = "|".join(sorted(filter(_CJK.search, words)))
        patterns[f"foreign {kind}"] = rf"(?i)(?:\A|[\s\pP])(?:{spaced})(?:[\s\pP]|\z)|{joined}"
    together = LinearSet(re2.Options())
    for pattern in (*patterns.values(), r"\z"):  # the last occurs in every text
        together.add(pattern)
    together.compile()
    return together, {name: LinearPattern(pattern) for name, pattern in patterns.items()}


def _hits(section: str, text: str) -> dict[str, LinearPattern]:
    """The patterns of a section that a text has; all of them where re2 has given up."""
    together, patterns = _set(section)
    numbers = together.matches(text.encode())
    return (
        {name: each for number, (name, each) in enumerate(patterns.items()) if number in numbers}
        if numbers
        else patterns
    )


def _some(form: LinearPattern, text: str) -> Iterator[re.Match[Any]]:
    return islice(form.finditer(text), MOST_MATCHES)


# --- Words and values ---


class _Name(NamedTuple):
    """A name of a field: its words in small letters, what ``[fields]`` says of it, the state that it names."""

    words: list[str]
    key: str
    roles: frozenset[str]
    state: State | None
    stems: frozenset[str]


@lru_cache(MOST_NAMES)
def _name(name: str) -> _Name:
    """Read a name: "rolledBack", "rolled_back"."""
    words = _plain(_CAMEL.sub(" ", name)).split() or [""]
    key = "".join(words)
    roles = {role for role in _ini()["fields"] if key in _names(role)}
    roles |= {role for role in ("aside", "counted", "asked", "asking") if not _names(role).isdisjoint(words)}
    roles |= {"state"} if words[-1] in _names("state") else set()
    state = None if "aside" in roles else _worst(_table().get(each) for each in (" ".join(words), *words))
    return _Name(words, key, frozenset(roles), state, frozenset[str]().union(*map(_stems, words)))


def _plain(text: str) -> str:
    """The words of a text in small letters without accents, between single spaces."""
    text = text.casefold()
    if not text.isascii():
        marked = unicodedata.normalize("NFKD", text.replace("ł", "l"))
        text = "".join(mark for mark in marked if not unicodedata.combining(mark))
    return " ".join(_WORD.findall(text))


def _stem(word: str) -> str:
    """The beginning that a word shares with its other forms: "appl" of "apply", "applied" and "applies"."""
    match = _ENDING.search(word)
    word = word[: match.start()] if match and match.start() >= 3 else word
    word = word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
    return word[:-1] if len(word) > 3 and word[-1] in "eyi" else word


@lru_cache(MOST_NAMES)
def _stems(word: str) -> frozenset[str]:
    """What a word shares with its other forms: the stem, and of a short one its consonants ("hold" and "held")."""
    bones = "".join(letter for letter in word.upper() if letter not in "AEIOU") if len(word) in (4, 5, 6) else ""
    return frozenset({_stem(word), bones} if len(bones) > 2 else {_stem(word)})


def _worst(states: Iterator[State | None]) -> State | None:
    """The first of several states that is not ``done``; ``done`` where one is, and no other."""
    known = [state for state in states if state is not None]
    return next((state for state in known if state != "done"), known[0] if known else None)


def _state_of(text: str) -> State | None:
    """The state that a text names, as a field of state holds it: "awaiting_approval", "NOT_SENT"."""
    words, table = _plain(_CAMEL.sub(" ", text)).split() if len(text) <= LONGEST_NAME else [], _table()
    whole = " ".join(words)
    if whole in table or not words:
        return table.get(whole)
    if _CJK.search(text):
        return table.get(max((word for word in table if word in whole and _CJK.search(word)), key=len, default=""))
    if words[0] in _words("negations", "words"):
        turned: dict[State | None, State] = {"done": "failed", "failed": "done"}
        return turned.get(_state_of(" ".join(words[1:])))
    spans = (" ".join(words[i : i + n]) for n in (3, 2, 1) for i in range(len(words) - n + 1))
    return _worst(table.get(span) for span in spans) if len(words) <= 4 else None


def _known(value: Any) -> Any:
    """A value as plain JSON."""
    if value is None or type(value) in (str, int, float, bool, dict, list):
        return value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value[:MOST_TEXT]).decode("utf-8", "replace")
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(islice(value, MOST_ENTRIES + 1))
    try:
        return str(value)[:MOST_TEXT]
    except Exception:  # of a foreign class
        return ""


def _flat(args: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """The arguments by their names, also those inside of objects."""
    for name, held in islice(args.items(), MOST_FIELDS) if isinstance(args, dict) else ():
        held = _known(held)
        if isinstance(name, str):
            yield _name(name[:LONGEST_NAME]).key, held
        if depth < 2:
            yield from _flat(held, depth + 1)


def _bounded(text: str) -> str:
    """A text as re2 reads it, without colours; of a long one, its beginning and end."""
    text = text if len(text) <= MOST_TEXT else f"{text[:HEAD]}\n{text[HEAD - MOST_TEXT :]}"
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _line(text: Any) -> str:
    """The first line of a text that has words, between single spaces."""
    lines = text[:MOST_TEXT].split("\n") if isinstance(text, str) else []
    return " ".join(next((line for line in lines if line.strip()), "")[:SHORT].split())[:LONGEST_WHY]


def _shown(held: Any, most: int = LONGEST_WHY) -> str:
    """A value as text; of a text, itself."""
    if isinstance(held, str):
        return held[:most]
    try:
        return orjson.dumps(cut(held, most, most), default=str).decode("utf-8", "replace")[:most]
    except (TypeError, ValueError, RecursionError):  # of a foreign class, or what holds itself
        return ""


def _is_false(held: Any) -> bool:
    return held is False or (isinstance(held, str) and held in ("false", "False"))


def _http(held: Any) -> int:
    """The HTTP status that a field holds; 0 for none."""
    if isinstance(held, str):
        held = int(held[:3]) if held[:3].isdecimal() and held[3:4] in ("", " ") else 0
    return held if type(held) is int and 100 <= held < 600 else 0
