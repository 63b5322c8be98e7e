"""Read a line of shell as a shell does: the commands that it runs, and not those that it mentions.

Quotes, comments and here-documents are text; substitutions, groups and the scripts of ``bash -c`` or ``ssh`` run, and
functions where they are called. Lines of PowerShell and cmd are read as far as they look like these.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

MOST_CHARACTERS: Final = 20_000  # of a script; the rest is not read
MOST_COMMANDS: Final = 200
MOST_NESTING: Final = 10  # of groups, substitutions and scripts; what stands deeper is not read
#: Programs; how many words behind them say what they do (0: they run another program, and do what that does; -1: the
#: same, behind a word of their own); and the options with a value that may stand before those words.
_TABLE: Final = """
git|git stash|git remote|git worktree|git submodule 1 -C -c --git-dir --work-tree
gh|glab 2 -R --repo
docker|podman|docker image|docker container|docker volume|docker network|docker system 1 -H -c -l --host --context
docker compose 1 -f -p --file --project-name --profile --env-file --project-directory
docker exec|docker run|docker compose exec|docker compose run|kubectl exec -1 -a -c -e -h -l -m -n -p -u -v -w --cpus \
--entrypoint --env --env-file --gpus --hostname --label --mount --name --network --platform --publish --user --volume
kubectl|kubectl rollout|kubectl config|kubectl set|helm|helm repo 1 -n -s --namespace --context --kube-context
npm|npm run|npm config|npm audit|coverage|pipx 1 -C -w -F --prefix --workspace --dir --filter --cwd workspace
pip|gem|composer|bundle|conda|brew|brew services|apt|dnf|yum|apk|winget|cargo|go|go mod|deno|bun|dotnet|bazel 1 -C -o
uv|uv tool|poetry|pipenv|pdm|hatch|hatch run|ruff|playwright|pre-commit|twine|flask|flask db|swift|flutter 1 -C -A --app
manage.py|artisan|rails|alembic|flyway|prisma|prisma migrate|prisma db|systemctl 1 -c -x -n -H -M --settings --config
terraform|terraform state|pulumi|cdk|sam|eb|fly|heroku|vercel|netlify|firebase|wrangler|supabase|mix 1 -a -c -s --stack
aws 2 --profile --region --output --endpoint-url
gcloud|az 4 --project --account --region --zone --subscription
make|just|task|rake|gradle|mvn|ant|turbo|service 3 -C -f -j -p -b -x -pl --directory --file
npx|bunx|uvx|npm exec|npm dlx|pipx run|bundle exec|uv run|uv tool run|poetry run|pipenv run|pdm run 0 -p -n \
--package --with --python --extra --group --project --directory --env-file --from
python|node|ruby|perl|php|tsx|ts-node|coverage run|bash|sh|zsh|dash|ksh 0 -W -X -o -O
ssh -1 -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w
timeout -1 -k -s --kill-after --signal
sudo|doas|env 0 -u -g -h -C --user --group --unset --chdir
nice|time|nohup|exec|stdbuf|setsid|command|builtin|xargs 0 -n -f -o -a -I -P -L -d -s -E --max-args --max-procs
watch 0 -n --interval
"""
_PROGRAMS: Final = {
    name: (int(most), frozenset(valued.split()))
    for names, most, valued in re.findall(r"(?m)^(.+?) (-?\d)(.*)$", _TABLE)
    for name in names.split("|")
}
_SHELLS: Final = frozenset("bash sh zsh dash ksh".split())
_PREFIXES: Final = frozenset("sudo doas env xargs timeout nice time nohup exec stdbuf setsid command builtin".split())
_RENAMED: Final = dict(
    re.findall(
        r"(\S.*?) = (.*?);",
        "npm t = npm test;npm run-script = npm run;npm run test = npm test;npm i = npm install;npm add = npm install;"
        "npm remove = npm uninstall;yarn = npm;pnpm = npm;uv pip = pip;apt-get = apt;docker-compose = docker compose;"
        "gradlew = gradle;mvnw = mvn;py.test = pytest;",
    )
)
#: Subcommands of yarn and pnpm; another word is a script of the package.
_OWN: Final = re.compile(
    "add|audit|config|create|dlx|exec|i|import|info|init|install|link|list|ls|outdated|pack|publish|remove|run|test|up"
    "|uninstall|unlink|update|upgrade|version|why"
)
_LOOKERS: Final = frozenset(
    """[ [[ : awk base64 basename break cal cat cd cksum clear cmp column comm command continue curl cut date declare df
    diff dig dir dirname du echo egrep env exit expr export false fd fgrep file find findstr free getent gofmt grep head
    history htop id jobs journalctl jq json.tool less let local ls lsof man md5sum more netstat nl nproc od pgrep ping
    popd printenv printf ps pushd pwd read readlink readonly realpath return rg sed seq set sha256sum shift shopt sleep
    sort ss stat strings tac tail test tldr top tr tree true type ulimit umask uname uniq unset uptime wait wc where
    whereis which who whoami xxd yq zcat""".split()
)
_ON_A_LIST: Final = r"^(?!.* (-a|-r|-l|--list|--contains|--merged)).*(branch|tag|remote).* [^-]"
#: Arguments by which a command that else only looks does more.
_WRITES: Final = {
    "sed": r" -[nErsuz]*i| --in-place",
    "yq": r" -i| --inplace",
    "sort": r" -o| --output",
    "gofmt": r" -w",
    "find": r" -(delete|fprint|fls)",
    "gh api": r" (-X|--method)[ =]?(?!GET)| -[fF]| --(raw-)?field| --input",
    "curl": r" -[a-zA-Z#]*([dFTO]|o(?! /dev/null)|X ?(?!GET))| --(data|form|json|upload|output|remote|request)",
    "git config": r" --(?!get|list|global|local|system)| config (--\w+ )*[\w.]+ .",
} | dict.fromkeys(["git branch", "git tag", "git remote"], _ON_A_LIST)
_LOOKING: Final = re.compile(
    r"(ls|list|get|describe|show|is|diff|log|logs|rev|cat|status)(-[a-z-]+)?|blame|checks|current-context|events|grep"
    r"|explain|freeze|history|images|info|inspect|outdated|output|ps|reflog|search|shortlog|tail|top|tree|validate|view"
    r"|watch|why"
)
_NO_LOOK: Final = re.compile(r"(make|just|task|rake|gradle|mvn|ant|turbo|ruff|npm run|go get|cargo watch)( .*)?")
_FORMATTER: Final = re.compile(r"black|isort|prettier|yapf|rustfmt|(ruff|dart|dotnet|mix) format|(cargo|terraform) fmt")
#: Deeds and arguments that make a trial.
_TRIAL: Final = re.compile(
    r"[^\0]*\0(--dry[-_]?run(?!=none|=false)(=.*)?|(?i:-whatif|--what-if)|--simulate|--just-print)|apt[^\0]*\0-s"
    r"|(make[^\0]*|rsync|git (push|add|clean|rm|mv))\0-[abBdehiklopqrstuvwxzfAHPSX]*n[a-zA-Z]*"
    r"|ansible-playbook\0(--check|-C)|(?s:(terraform plan|pulumi preview)\0.*)"
)
#: Options behind which a program has its own text, and not the file or the words of another program; and a script.
_TEXT: Final = re.compile(
    r"(python|node|ruby|perl|php|tsx|npx) (-\w*[cepr]|-|--eval|--print)|command -[vV]|(ba|z|da|k|)sh -\w*[cns]\w*"
)
_SCRIPT: Final = re.compile(
    r"(ba|z|da|k|)sh -\w*c\w*|su (-c|--command)|cmd /[ck]|(powershell|pwsh) (-c|-command)", re.I
)
_ASSIGNMENT: Final = re.compile(r"\$?[A-Za-z_][\w:]*(\[[^\]]*\])?\+?=")
_PROGRAM: Final = re.compile(r"[\w.:\[@$%~+{][^\s`'\"|&;<>]*")
_VERB: Final = re.compile("(create|delete|deploy|update|list|show|describe|submit|start|stop|restart|add|remove|set).*")
_STOPS: Final = {
    **dict.fromkeys(("if", "elif"), ("then",)),
    **dict.fromkeys(("while", "until"), ("do",)),
    **{"then": ("elif", "else", "fi"), "else": ("fi",), "do": ("done",), "{": ("}",)},
}
_OPENERS: Final = frozenset("if while until { ( (( for select case function".split())
_SKIPPED: Final = frozenset("then elif else fi do done esac } ; ;; ;& ;;& & && || | |& )".split()) | {"\n"}
_BLANK: Final = re.compile(r"([ \t\r]|[\\`]\r?\n|#[^\n]*)+")
_CHUNK: Final = re.compile(r"[^\s|&;<>()\\'\"`$}]+")
_REDIRECTION: Final = re.compile(r"(\d*|\{\w+\})(<<<|<<-?|&>>?|<>|<&|>&|>>|>\||<(?!\()|>(?!\())[ \t]*")
_OPERATOR: Final = re.compile(r";;&|;;|;&|&&|\|\||\|&|[|&;()]")
_SUM: Final = re.compile(r"\(\(([^()]|\(([^()]|\([^()]*\))*\))*\)\)")
_NO_FILE: Final = re.compile(r"/dev/(null|std\w+|tty|fd/\d)|\d+-?|-|NUL|\$null|", re.IGNORECASE)
_QUOTED: Final = re.compile(r"'([^']*)'|\$'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`", re.DOTALL)


class Command(NamedTuple):
    """A command that a script runs, or may run.

    Attributes:
        words: the program without its path, and its arguments without their quotes; ``sudo`` and its like are left out.
        deed: the program that does it, with its subcommands: ``git push``, ``npm test``, ``pytest`` for ``npx pytest``.
        looks: it only reads or prints.
        trial: it only shows what it would do.
        background: nobody waits for it.
        forgiven: its failure does not show in the exit code of the script.
    """

    words: tuple[str, ...]
    deed: str
    looks: bool
    trial: bool
    background: bool
    forgiven: bool


class _Token(NamedTuple):
    """A word, an operator, a redirection ("redirect": to a file, if text), input ("here"), or the end ("").

    A word is bare where no part of it is quoted; inner are the commands of the substitutions in it.
    """

    kind: str
    text: str = ""
    bare: bool = False
    inner: Sequence[Command] = ()

    @property
    def key(self) -> str:
        return self.text if self.bare else self.kind


def commands_in(script: str) -> list[Command]:
    """List the first ``MOST_COMMANDS`` commands that a script runs, in the order in which it comes to them.

    >>> [command.deed for command in commands_in("cd web && git commit -m 'git push' && npx jest")]
    ['cd', 'git commit', 'jest']
    """
    return _Reader(script[:MOST_CHARACTERS], 0, {}).read()


def _forgiven(commands: Sequence[Command], wholly: bool = True) -> list[Command]:
    return [command._replace(forgiven=command.forgiven or wholly) for command in commands]


class _Reader:
    """Reads a script once, from its beginning to its end."""

    def __init__(self, text: str, depth: int, functions: dict[str, list[Command]]) -> None:
        self.text, self.depth, self.functions, self.at = text, depth, functions, 0
        self.ahead: _Token | None = None
        self.options: frozenset[str] = frozenset()  # errexit, pipefail
        self.ended = ""  # the stop of the last list
        self.printed = ""  # by the last command, where the line says what
        self.line_end = self.body_at = -1  # of a line with here-documents, and of what follows them
        self.calls = MOST_COMMANDS  # commands of functions that may yet be listed

    def peek(self) -> _Token:
        self.ahead = self.ahead or self.token()
        return self.ahead

    def take(self) -> _Token:
        token, self.ahead = self.peek(), None
        return token

    def take_while(self, *keys: str) -> None:
        while self.peek().key in keys:
            self.take()

    def read(self, *stops: str, repeated: bool = False) -> list[Command]:
        """Read the commands up to a stop; where the list is repeated, the last round alone gives an exit code."""
        found: list[Command] = []
        head: list[Command] = []
        tail: list[Command] = []
        strict, ended = False, ""
        self.at = self.at if self.depth < MOST_NESTING else len(self.text)
        self.depth += 1
        while not ended and (key := self.peek().key or self.peek().kind):
            if key in stops or key in _SKIPPED:
                ended = key if key in stops else ""
                self.take()
            else:
                if len(found) < MOST_COMMANDS:
                    found += _forgiven(head) + _forgiven(tail, not strict)
                head, tail = self.chain()
                strict = "errexit" in self.options
        self.depth, self.ended = self.depth - 1, ended
        return (found + _forgiven(head, repeated) + _forgiven(tail, repeated and not strict))[:MOST_COMMANDS]

    def read_apart(self) -> list[Command]:
        """Read the commands of a subshell, whose options are its own."""
        options, ended = self.options, self.ended
        found = self.read(")")
        self.ahead, self.options, self.ended = None, options, ended
        return found

    def chain(self) -> tuple[list[Command], list[Command]]:
        """Read what ``&&`` and ``||`` join: all but its last pipeline, and that one."""
        links, joints, hidden = [self.pipeline()], [], False
        while (key := self.peek().key) in ("&&", "||"):
            joints.append(self.take().key)
            self.take_while("\n")
            links.append(self.pipeline())
        for place in range(len(joints) - 1, -1, -1):
            if joints[place] == "||":
                then = " ".join(links[place + 1][-1].words) if links[place + 1] else ""
                hidden = re.match(r"false$|(exit|return)( (?!0$)|$)", then) is None
            links[place] = _forgiven(links[place], hidden)
        if key == "&":
            links = [[command._replace(background=True, forgiven=True) for command in link] for link in links]
        return [command for link in links[:-1] for command in link], links[-1]

    def pipeline(self) -> list[Command]:
        found: list[Command] = []
        negated, self.printed = False, ""
        while self.peek().key in ("!", "time", "-p"):
            negated = self.take().key == "!" or negated
        while True:
            given, self.printed = self.printed, ""
            stage = self.command(given)
            if self.peek().key not in ("|", "|&"):
                return _forgiven(found + stage, negated)
            found += _forgiven(stage, "pipefail" not in self.options)
            self.take()
            self.take_while("\n")

    def command(self, given: str) -> list[Command]:
        """Read a command, simple or not, that gets to read what the one before it printed."""
        key, found = self.peek().key, list[Command]()
        if key not in _OPENERS:
            return [] if key in _SKIPPED else self.simple(given)
        self.take()
        if key == "function":
            return self.define(self.take().text)
        if key == "(":
            found = self.read_apart()
        if key in ("for", "select", "case"):
            stops = ("", "in") if key == "case" else ("", "do", "{")
            while self.peek().key not in stops:
                found += _forgiven(self.take().inner)
            last = self.take().key
            key, self.ended = (last, "") if key != "case" else (key, ";;")
        while key == "case" and self.ended.startswith(";"):
            while self.peek().key not in ("", ")", "esac"):
                self.take()
            self.ended = ""
            found += self.read(";;", ";&", ";;&", "esac") if self.take().key == ")" else []
        while key in _STOPS:
            part = self.read(*_STOPS[key], repeated=key == "do")
            found += _forgiven(part, key in ("if", "elif", "while", "until"))
            key = self.ended
        while self.peek().kind in ("redirect", "here"):
            found += _forgiven(self.take().inner)
        return found

    def define(self, name: str) -> list[Command]:
        self.take_while("(", ")")
        self.take_while("\n")
        self.functions[name] = self.command("")
        return []

    def simple(self, given: str) -> list[Command]:
        words: list[str] = []
        inner: list[Command] = []
        writes = False
        while (token := self.peek()).kind:
            testing = words[:1] == ["[["] and words[-1] != "]]" and token.kind != "\n"
            if testing or (token.kind == "word" and (words or not _ASSIGNMENT.match(token.text))):
                words.append(token.text)
            elif token.kind == "redirect":
                writes = writes or token.text != ""
            elif token.kind == "here":
                given = token.text
            elif token.kind == "(" and len(words) == 1:
                self.take()
                if self.peek().key == ")":
                    return self.define(words[0])
                return [*_forgiven(inner), *self.run(words, given, writes), *self.read_apart()]
            elif token.kind != "word":
                break
            inner += self.take().inner
        self.printed = ""
        return [*_forgiven(inner, bool(words)), *(self.run(words, given, writes) if words else ())]

    def run(self, words: Sequence[str], given: str = "", writes: bool = False) -> list[Command]:
        """List the command of these words, or those that it runs."""
        waits, found = True, list[Command]()
        while (name := _base(words[0])) in _PREFIXES and (behind := _behind(words, 1, name)):
            waits, words = waits and name not in ("nohup", "setsid"), behind
        said, own = _named(words)
        name, args = _base(own[0]), own[1:]
        if self.depth > MOST_NESTING or not name or not _base(words[0]):
            return []
        if (script := _script(name, own, given)) is not None:
            reader = _Reader(script, self.depth, {})
            reader.options = _options(own, frozenset()) if name != "eval" else self.options
            found = reader.read()
        elif words[0] in self.functions and self.calls > 0:
            found = self.functions[words[0]]
            self.calls -= len(found)
        else:
            looks = _looks(said, own, writes)
            trial = not looks and any(_TRIAL.fullmatch(f"{' '.join(said)}\0{word}") for word in own)
            found = [Command((_base(words[0]), *words[1:]), " ".join(said), looks, trial, False, False)]
        place = 0 if name == "find" else len(args)
        while place < len(args):
            end = place
            if args[place] in ("-exec", "-execdir", "-ok"):
                end = next((end for end in range(place, len(args)) if args[end] in (";", "+")), len(args))
                found += _Reader("", self.depth + 1, {}).run(args[place + 1 : end]) if end > place + 1 else []
            place = end + 1
        self.options = _options(args, self.options) if name == "set" else self.options
        self.printed = " ".join(args) if name == "echo" else given if name == "cat" and not args else ""
        return found if waits else [command._replace(background=True) for command in found]

    def token(self) -> _Token:
        text = self.text
        if blank := _BLANK.match(text, self.at):
            self.at = blank.end()
        if self.at >= len(text):
            return _Token("")
        if text[self.at] == "\n":
            self.at = self.body_at if self.at == self.line_end else self.at + 1
            return _Token("\n")
        if match := _REDIRECTION.match(text, self.at):
            self.at, sign = match.end(), match[2]
            target = self.word()
            if sign in ("<<", "<<-"):
                return self.here(sign, target)
            if sign == "<<<":
                return target._replace(kind="here", bare=False)
            writes = ">" in sign and match[1] in ("", "1") and not _NO_FILE.fullmatch(target.text)
            return _Token("redirect", target.text if writes else "", False, target.inner)
        if match := _SUM.match(text, self.at) or _OPERATOR.match(text, self.at):
            self.at = match.end()
            return _Token(match[0] if match[0][:2] != "((" else "((")
        return self.word()

    def here(self, sign: str, target: _Token) -> _Token:
        """Read the body of a here-document, which begins behind this line."""
        if self.line_end < self.at:
            self.line_end = (self.text + "\n").index("\n", self.at)
            self.body_at = self.line_end + 1
        tabs = r"\t*" if sign == "<<-" else ""
        end = re.compile(rf"(?m)^{tabs}{re.escape(target.text)}\r?$").search(self.text, self.body_at)
        body = self.text[self.body_at : end.start() if end else len(self.text)]
        self.body_at = end.end() + 1 if end else len(self.text) + 1
        inner: list[Command] = []
        if target.bare:
            _Reader(body, self.depth, self.functions).double("", inner)
        return _Token("here", body, False, inner)

    def word(self) -> _Token:
        text, start, bare, braces = self.text, self.at, True, 0
        parts: list[str] = []
        inner: list[Command] = []
        while self.at < len(text):
            char, two = text[self.at], text[self.at : self.at + 2]
            if match := _CHUNK.match(text, self.at):
                self.at = match.end()
                parts.append(match[0])
            elif two == "$(" or (two in ("<(", ">(") and not braces):
                parts.append(self.substitution(inner))
            elif char in "\\'\"`" or two in ("$'", '$"'):
                parts.append(self.quoted(inner, self.at > start))
                bare = False
            elif char in " \t\r\n|&;<>()" and not braces:
                if char != "(" or not bare or self.at == start or text[self.at - 1] not in "=?*+@!":
                    break
                self.depth += 1  # an array, or a pattern
                self.at = len(text) if self.depth > MOST_NESTING else self.at + 1
                while (token := self.token()).kind not in ("", ")"):
                    inner += token.inner
                self.depth -= 1
            else:
                braces += (two == "${") - (char == "}" and braces > 0)
                parts.append(two if two == "${" else char)
                self.at += len(parts[-1])
        return _Token("word", "".join(parts), bare, inner)

    def substitution(self, inner: list[Command]) -> str:
        start = self.at
        if match := _SUM.match(self.text, start + 1):
            self.at = match.end()
        else:
            self.at += 2
            inner += self.read_apart()
        return self.text[start : self.at]

    def quoted(self, inner: list[Command], within: bool) -> str:
        text, start = self.text, self.at
        if text[start] == "\\":
            following = text[start + 1 : start + 2]
            self.at += 2
            return f"\\{following}" if within and following.isalnum() else following.strip("\n")  # web\gradlew
        if text.startswith(('"', '$"'), start):
            self.at += 1 + (text[start] == "$")
            return self.double('"', inner)
        match = _QUOTED.match(text, start)
        self.at = match.end() if match else len(text)
        if match is None:
            return text[start:]
        if match[3] is not None:
            script = re.sub(r"\\([`\\$])", r"\1", match[3])
            inner += _Reader(script, self.depth, self.functions).read()
            return match[0]
        if match[1] is not None:
            return match[1]
        return re.sub(r"(?s)\\(.)", lambda sign: {"n": "\n", "t": "\t"}.get(sign[1], sign[1]), match[2] or "")

    def double(self, stop: str, inner: list[Command]) -> str:
        """Read text in double quotes; where they stay open, nothing in them runs."""
        text, found = self.text, list[Command]()
        parts: list[str] = []
        while self.at < len(text) and text[self.at] != stop:
            if text[self.at] == "`":
                parts.append(self.quoted(found, False))
            elif text.startswith("$(", self.at):
                parts.append(self.substitution(found))
            elif text[self.at] == "\\":
                following = text[self.at + 1 : self.at + 2]
                parts.append(following.strip("\n") if following in '\n$`"\\' else f"\\{following}")
                self.at += 2
            else:
                special = re.compile(r'["\\`$]').search(text, self.at + 1)
                start, self.at = self.at, special.start() if special else len(text)
                parts.append(text[start : self.at])
        inner += found if self.at < len(text) or not stop else []
        self.at += 1
        return "".join(parts)


def _base(word: str) -> str:
    """Name a program without its path, its version and its ending; "" where it is no program."""
    name = re.sub(r"(?<=[^/])@[^@/]*$", "", word)
    name = name if name.startswith("@") else re.split(r"[/\\]", name)[-1]
    name = re.sub(r"(?i)\.(exe|cmd|bat)$", "", name)
    return name if _PROGRAM.fullmatch(name) else ""


def _has_value(word: str, valued: frozenset[str]) -> bool:
    return word in valued or (re.fullmatch(r"-[a-zA-Z]{2,4}", word) is not None and f"-{word[-1]}" in valued)


def _behind(words: Sequence[str], place: int, key: str) -> Sequence[str]:
    """Skip the options of a program that runs another: the words of the other one."""
    most, valued = _PROGRAMS[key]
    for own in range(1 - most):
        place += own
        while place < len(words) and (words[place][:1] == "-" or (key in ("env", "sudo") and "=" in words[place])):
            place, word = place + 1, words[place]
            if _has_value(word, valued):
                place += 1
            elif _TEXT.fullmatch(f"{key} {word}"):
                return []
            elif word == "--":
                break
    return words[place:]


def _named(words: Sequence[str], tries: int = MOST_NESTING) -> tuple[list[str], Sequence[str]]:
    """Name the deed of a command, and the words of the program that does it."""
    first, place, before = _base(words[0]), 1, [""]
    said = _RENAMED.get(first, re.sub(r"^(python|pip)[\d.]+$", r"\1", first)).split()
    while (entry := _PROGRAMS.get(key := " ".join(said))) and said != before:
        (most, valued), before = entry, said
        if most <= 0:
            behind = _behind(words, place, key) if key != "ssh" else []
            return _named(behind, tries - 1) if behind and tries and _base(behind[0]) else (said, words)
        while place < len(words) and most and (said == before or " ".join(said) not in _PROGRAMS):
            word, place = words[place], place + 1
            if _has_value(word, valued):
                place += 1
            elif not word.startswith(("-", "+")) and not re.fullmatch(r"\d+|\w+=.*", word):
                if not re.fullmatch(r"[a-z][a-z0-9:_-]*", word):
                    break
                script = first in ("yarn", "pnpm") and said == ["npm"] and not _OWN.fullmatch(word)
                said = " ".join([*said, "run", word] if script else [*said, word]).split(" ")
                said = _RENAMED.get(" ".join(said), " ".join(said)).split()
                most = 0 if said[0] in ("az", "gcloud") and _VERB.fullmatch(word) else most - 1
    return (["npm", "install"] if first == "yarn" and said == ["npm"] else said), words


def _script(name: str, words: Sequence[str], given: str) -> str | None:
    """Find the script that a command runs."""
    if name in ("eval", "watch", "ssh"):
        return " ".join(_behind(words, 1, name) if name != "eval" else words[1:]) or given or None
    for place, word in enumerate(words[1:], 1):
        if _SCRIPT.fullmatch(f"{name} {word}"):
            rest = words[place + 1 :]
            return shlex.join(rest) if name in ("cmd", "powershell", "pwsh") and rest[1:] else "".join(rest[:1])
        if name in _SHELLS and word != "-s" and word[:1] not in ("-", "+") and words[place - 1][-1:] != "o":
            return given or None if words[place - 1] == "-s" else None
    return given or None if name in _SHELLS else None


def _options(words: Sequence[str], options: frozenset[str]) -> frozenset[str]:
    """Tell which options of a shell are set behind these words."""
    for before, word in zip(("", *words), words, strict=False):
        sign = before if re.fullmatch(r"[-+]\w*o", before) else word
        named = {word} if sign is not word else {"errexit"} if re.fullmatch(r"[-+]\w*e\w*", word) else set()
        options = options - named if sign.startswith("+") else options | named
    return options


def _looks(said: Sequence[str], words: Sequence[str], writes: bool) -> bool:
    """Tell whether a command only reads or prints."""
    deed, two, line = " ".join(said), " ".join(said[:2]), " ".join(["", *words[1:]])
    asks = words[-1] in ("--version", "-h", "/?") or not {"--help", "--collect-only"}.isdisjoint(words)
    if (asks and len(words) > 1) or "help" in said[1:] or words[-1] == said[-1] == "version":
        return True
    if (said[0] in _PROGRAMS and line in (" -v", " -V")) or (said[0] in _SHELLS and " -n" in line):
        return True
    if writes or re.search(_WRITES.get(two, "(?!)"), line):
        return False
    if _FORMATTER.fullmatch(deed):
        return re.search(r" --?(check|diff|list-different|verify-no-changes)", line) is not None
    if two in _LOOKERS or two in _WRITES or re.match("(Get|Test|Select|Where|Measure|Write|Format)-[A-Z]", deed):
        return True
    return (
        said[0] in _PROGRAMS and len(said) > 1 and not _NO_LOOK.fullmatch(deed) and bool(_LOOKING.fullmatch(said[-1]))
    )
