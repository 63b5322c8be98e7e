"""The commands in a line of shell: what it runs, and not what it mentions."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.actions._shell import MOST_CHARACTERS, MOST_COMMANDS, Command, commands_in

from ...rows import over

BASH = shutil.which("bash") or ""
HEREDOC = "git commit -m \"$(cat <<'EOF'\nPush the branch; then `git push`\n\ngit push origin main\nEOF\n)\" && echo ok"
#: Lines, and the deeds of the commands that they run, in order.
DEEDS: list[tuple[str, list[str]]] = [
    # One command, and commands joined.
    ("git push origin main", ["git push"]),
    ("npm ci && npm run build; git push", ["npm ci", "npm run build", "git push"]),
    ("pytest -q | tee out.txt", ["pytest", "tee"]),
    ("a&&b||c;d|e&f", ["a", "b", "c", "d", "e", "f"]),
    ("cd x && make", ["cd", "make"]),
    ("git add .\ngit commit -m x\r\ngit push\n", ["git add", "git commit", "git push"]),
    ("git \\\n  push \\\n  origin", ["git push"]),
    ("a |& b", ["a", "b"]),
    ("! git push", ["git push"]),
    ("", []),
    (" ;; && | \n", []),
    # What is only mentioned.
    ("grep -rn 'git push' .", ["grep"]),
    ("echo 'git push origin main'", ["echo"]),
    ('echo "rm -rf /; git push"', ["echo"]),
    ("git commit -qm 'push the branch'", ["git commit"]),
    ("git commit -m push", ["git commit"]),
    ("git commit -m \"a && git push\" -m 'b; rm x'", ["git commit"]),
    ("echo git push", ["echo"]),
    ("echo git\\ push\\;rm", ["echo"]),
    ("echo a # ; git push", ["echo"]),
    ("# git push", []),
    ("echo a#b; git push", ["echo", "git push"]),
    ("git log --grep='git push' -1", ["git log"]),
    ("'git push'", []),
    ("alias gp='git push'", ["alias"]),
    ("echo $'it\\'s; git push'", ["echo"]),
    ("[[ $a == x && git || ( push ) ]] && pytest", ["[[", "pytest"]),
    ("x=(git push); echo ${x[@]}", ["echo"]),
    ("((i = 1 | 2)); echo $((1 + (2 | 3)))", ["echo"]),
    ("echo ${x:-git push; rm}", ["echo"]),
    ("ls !(a|b) *(c|d)", ["ls"]),
    # Substitutions run.
    ("echo $(git push)", ["git push", "echo"]),
    ('echo "now: $(date) `git push`"', ["date", "git push", "echo"]),
    ("echo '$(git push)' '`rm x`'", ["echo"]),
    ('echo "\\$(git push) \\`rm x\\`"', ["echo"]),
    ("x=$(git push) y=2", ["git push"]),
    ('echo "$(echo "$(git push)")"', ["git push", "echo", "echo"]),
    ("echo `echo \\`git push\\``", ["git push", "echo", "echo"]),
    ("diff <(git show a) <(git show b)", ["git show", "git show", "diff"]),
    ("tar c . > >(gzip)", ["gzip", "tar"]),
    ('echo "${x:-$(git push)}"', ["git push", "echo"]),
    ('pkill "$(pgrep x)"', ["pgrep", "pkill"]),
    # Redirections are no arguments.
    ("make test > out.txt 2>&1", ["make test"]),
    ("> out.txt make test", ["make test"]),
    ("make &> build test", ["make test"]),
    ("make 2>build test < clean", ["make test"]),
    ("bash <<< 'git push'", ["git push"]),
    ("cat <<< 'git push'", ["cat"]),
    # Here-documents.
    ("cat <<EOF\ngit push\nEOF\npytest", ["cat", "pytest"]),
    ("cat <<'EOF' > a.sh && pytest\ngit push $(rm x)\nEOF\nmake", ["cat", "pytest", "make"]),
    ("cat <<EOF\n$(git push) \"\nEOF\nmake", ["git push", "cat", "make"]),
    ("cat <<-EOF\n\trm x\n\tEOF\nmake", ["cat", "make"]),
    ("cat <<A; cat <<B\nrm x\nA\nrm y\nB\nmake", ["cat", "cat", "make"]),
    ("cat <<EOF\ngit push", ["cat"]),
    ("bash <<'EOF'\ngit push\nEOF", ["git push"]),
    ("bash -s x <<EOF\ngit push\nEOF", ["git push"]),
    ("python - <<'EOF'\ngit push\nEOF\nmake", ["python", "make"]),
    ("ssh web <<EOF\nsystemctl restart nginx\nEOF", ["systemctl restart"]),
    ("cat <<EOF | sh\ngit push\nEOF", ["cat", "git push"]),
    (HEREDOC, ["cat", "git commit", "echo"]),
    # Prefixes.
    ("sudo -u root rm -rf x", ["rm"]),
    ("A=1 B='x y' git push", ["git push"]),
    ("env -i A=1 git push", ["git push"]),
    ("time git push", ["git push"]),
    ("nohup npm start &", ["npm start"]),
    ("timeout -s KILL 5 pytest", ["pytest"]),
    ("git ls-files | xargs -n 1 -I {} rm {}", ["git ls-files", "rm"]),
    ("watch -n 2 'kubectl get pods'", ["kubectl get"]),
    ("exec git push", ["git push"]),
    ("command git push", ["git push"]),
    ("command -v git", ["command"]),
    ("sudo env X=1 timeout 5 nice -n 3 docker push x", ["docker push"]),
    ("env", ["env"]),
    ("sudo -n true", ["true"]),
    ("if ! time -p git push; then rm x; fi", ["git push", "rm"]),
    # Scripts in arguments.
    ("bash -c 'cd x && git push'", ["cd", "git push"]),
    ("sh -lc \"npm test\"", ["npm test"]),
    ("bash -euo pipefail -c 'make; make test'", ["make", "make test"]),
    ("bash deploy.sh -c 'git push'", ["deploy.sh"]),
    ("ssh -i key -p 22 me@host 'sudo systemctl restart nginx && rm x'", ["systemctl restart", "rm"]),
    ("ssh host git push", ["git push"]),
    ("ssh host", ["ssh"]),
    ("eval 'git push'", ["git push"]),
    ("su - app -c 'git push'", ["git push"]),
    ("echo 'git push' | bash", ["echo", "git push"]),
    ("curl -s https://x.io/i.sh | bash", ["curl", "bash"]),
    ("find . -name '*.pyc' -exec rm {} \\; -o -exec git add {} +", ["find", "rm", "git add"]),
    ("docker exec -it -u root web python manage.py migrate", ["manage.py migrate"]),
    ("docker compose -f a.yml exec -T web pytest -q", ["pytest"]),
    ("docker compose run --rm -e A=1 web npm test", ["npm test"]),
    ("docker run --rm -v $PWD:/w -w /w node:20 npm test", ["npm test"]),
    ("docker run -d -p 80:80 nginx", ["docker run"]),
    ("kubectl -n x exec -it pod -- psql -c 'drop table x'", ["psql"]),
    ("kubectl exec pod", ["kubectl exec"]),
    # Compounds.
    ("if git diff; then echo x; elif a; then b; else git push; fi", ["git diff", "echo", "a", "b", "git push"]),
    ("for f in $(ls) git push; do rm $f; done; make", ["ls", "rm", "make"]),
    ("for ((i=0; i<3; i++)); do pytest; done", ["pytest"]),
    ("while read x; do git push $x; done < list", ["read", "git push"]),
    ("until curl -f x; do sleep 1; done", ["curl", "sleep"]),
    ("case $1 in git) push;; a|b) git push ;; *) rm x; esac; make", ["push", "git push", "rm", "make"]),
    ("(cd x; make) && { git push; rm x; } 2>/dev/null", ["cd", "make", "git push", "rm"]),
    ("echo if then do rm", ["echo"]),
    # Functions run where they are called.
    ("f() { git push; }; make", ["make"]),
    ("f() { git push; }\nfunction g { rm x; }\nmake && f && g && f", ["make", "git push", "rm", "git push"]),
    (":(){ :|:& };:", [":", ":"]),
    # Options before subcommands.
    ("git -C dir -c a.b=c push", ["git push"]),
    ("git --no-pager log", ["git log"]),
    ("docker --context x build -t y .", ["docker build"]),
    ("docker-compose -f x.yml up -d", ["docker compose up"]),
    ("npm --prefix web run build", ["npm run build"]),
    ("kubectl -n prod --context c apply -f x.yml", ["kubectl apply"]),
    ("cargo +nightly test", ["cargo test"]),
    ("make -C dir -j 4 CC=gcc test", ["make test"]),
    ("make", ["make"]),
    ("make clean build -k", ["make clean build"]),
    # How deep subcommands go.
    ("gh pr create --title 'git push'", ["gh pr create"]),
    ("npm install express", ["npm install"]),
    ("git stash pop", ["git stash pop"]),
    ("git remote add origin x", ["git remote add"]),
    ("kubectl rollout restart deploy/x", ["kubectl rollout restart"]),
    ("helm upgrade --install app chart", ["helm upgrade"]),
    ("terraform -chdir=x apply -auto-approve", ["terraform apply"]),
    ("aws --profile p s3 cp a s3://b", ["aws s3 cp"]),
    ("gcloud run deploy svc --image x", ["gcloud run deploy"]),
    ("gcloud compute instances create vm", ["gcloud compute instances create"]),
    ("az group create -n x", ["az group create"]),
    ("mvn -q clean install", ["mvn clean install"]),
    ("./gradlew :app:build test", ["gradle"]),
    ("./gradlew test", ["gradle test"]),
    ("sudo apt-get -y install curl", ["apt install"]),
    ("brew services restart x", ["brew services restart"]),
    ("go mod tidy", ["go mod tidy"]),
    ("flask --app web db upgrade", ["flask db upgrade"]),
    ("hatch run test", ["hatch run test"]),
    ("pipx run black .", ["black"]),
    ("rm push", ["rm"]),
    # Programs that run another.
    ("npx jest", ["jest"]),
    ("npx -y prettier@3 --write .", ["prettier"]),
    ("npx @scope/push x", ["@scope/push"]),
    ("npx prisma migrate deploy", ["prisma migrate deploy"]),
    ("uv run --with x -p 3.12 pytest -q", ["pytest"]),
    ("poetry run python -m pytest", ["pytest"]),
    ("uv pip install x", ["pip install"]),
    ("python3.11 -m pip install x", ["pip install"]),
    ("pip3 install x", ["pip install"]),
    ("python -u -m pytest", ["pytest"]),
    ("python manage.py migrate app", ["manage.py migrate"]),
    ("./manage.py migrate", ["manage.py migrate"]),
    ("python scripts/deploy.py push", ["deploy.py"]),
    ("python -c 'git push'", ["python"]),
    ("node -e 'rm()'", ["node"]),
    ("coverage run -m pytest", ["pytest"]),
    ("bundle exec rspec", ["rspec"]),
    ("php artisan migrate", ["artisan migrate"]),
    ("/usr/bin/git push", ["git push"]),
    ("./node_modules/.bin/jest", ["jest"]),
    # npm and those that stand in for it.
    ("npm test", ["npm test"]),
    ("npm t", ["npm test"]),
    ("npm run test -- --watch", ["npm test"]),
    ("yarn test", ["npm test"]),
    ("yarn run test", ["npm test"]),
    ("pnpm -r run test", ["npm test"]),
    ("pnpm --filter web build", ["npm run build"]),
    ("yarn", ["npm install"]),
    ("yarn add x", ["npm install"]),
    ("npm i x", ["npm install"]),
    ("npm run test:unit", ["npm run test:unit"]),
    ("pnpm exec jest", ["jest"]),
    ("yarn workspace web build", ["npm run build"]),
    # Quotes that stay open are text.
    ("make; echo 'git push; rm x", ["make", "echo"]),
    ('make; echo "a $(git push) b', ["make", "echo"]),
    ("make; echo it's fine && git push", ["make", "echo"]),
    ("make; echo `git push", ["make", "echo"]),
    ("make; (git push", ["make", "git push"]),
    ("make; ) fi done } git push", ["make", "git push"]),
    ("make \\", ["make"]),
    # Windows.
    ('powershell -NoProfile -ExecutionPolicy Bypass -Command "git push; rm x"', ["git push", "rm"]),
    ('cmd /c "cd web && npm test"', ["cd", "npm test"]),
    ("cmd.exe /c git commit -m 'a && git push'", ["git commit"]),
    ("C:\\tools\\git.exe push", ["git push"]),
    (".\\gradlew.bat build", ["gradle build"]),
    ('& "C:\\Program Files\\Git\\git.exe" push', ["git push"]),
    ("$x = 'git push'; $env:PATH=\"a/git\"; npm.cmd test", ["$x", "npm test"]),
    ("docker run `\n  -p 80:80 `\n  nginx", ["docker run"]),
    ("if (Test-Path x) { git push } else { Write-Output 'rm x' }", ["Test-Path", "git push"]),
    ("Get-ChildItem | Where-Object { $_.Name -eq 'git push' }", ["Get-ChildItem", "Where-Object"]),
]  # fmt: skip


def deeds(script: str) -> list[str]:
    return [command.deed for command in commands_in(script)]


@over(("line", "expected"), DEEDS)
def test_the_deeds_of_a_line(line: str, expected: list[str]) -> None:
    assert deeds(line) == expected


@over(("line", "words"), [
        ("git push origin main", ("git", "push", "origin", "main")),
        ("/usr/bin/git -C 'a b' push \"it's\" a\\ b 2>&1 >x", ("git", "-C", "a b", "push", "it's", "a b")),
        ("sudo A=1 rm -rf ''", ("rm", "-rf", "")),
        ("npx jest -t x", ("npx", "jest", "-t", "x")),
        ("echo \"a\\\"b\\nc$x ${y} $((1+1))\"'d'", ("echo", "a\"b\\nc$x ${y} $((1+1))d")),
        ("echo $'a\\nb'", ("echo", "a\nb")),
        ("git commit -m \"$(date)\"", ("git", "commit", "-m", "$(date)")),
        ("echo 2 >1 3>4 a2>x", ("echo", "2", "a2")),
    ])  # fmt: skip
def test_the_words_of_a_command(line: str, words: tuple[str, ...]) -> None:
    assert commands_in(line)[-1].words == words


LOOKS = """git remote -v|git log -1
git status|git diff > /dev/null|git show x 2>&1|git push --help|git help push|git push -h
git --version|npm -v|helm version|ls -la|cat a|echo x|man git|which git|git branch|git branch -a|git branch --list 'a*'
git tag -l 'v*'|git config --get user.name|git config user.name|git stash list|git ls-files|git rev-parse x
gh pr view 7|gh pr checks 7|gh run watch 7|gh api repos/x|kubectl get pods -n x|kubectl rollout status deploy/x
docker ps|docker compose logs web|docker image ls|pip list|npm ls|npm view x|terraform state list|systemctl status x
aws s3 ls|aws ec2 describe-instances|gcloud run services list|az account show|apt list|brew info x|go version
sed -n 1,3p a|find . -name x|curl -s https://x.io|curl -so /dev/null -w '%{http_code}' https://x.io|jq . a
black --check .|ruff format --check|prettier --check .|terraform fmt -check|isort --check-only .|cargo fmt -- --check
pytest --version|pytest --collect-only|bash -n a.sh|make help|command -v git
cd x|test -f x|[ -f x ]|Get-Content a|sort a"""
DOES = """git push|git commit -m --fixup|git branch x|git branch -d x|git tag v1|git config user.name Ada|git stash
git fetch|git stash pop|echo x > a|cat a >> b|cat <<EOF >a|sed -i s/a/b/ a|sed -i.bak s/a/b/ a|find . -delete
curl -X POST https://x.io|curl -d a=b https://x.io|curl -sSLo a https://x.io|gh api -X DELETE repos/x|gh pr merge 7
go get x|npm audit fix|npm version patch|helm install x y --version 1.2|make list|npm run show|black .|ruff format
terraform fmt|pytest|pytest -v|bash a.sh|rm x|docker run x|kubectl apply -f x|sort -o a a|gofmt -w .|tee a|touch a
git config --unset user.name|git log > log.txt|git commit -m "add --help"|git commit -m "add --dry-run" -n
terraform apply|yarn|ansible-playbook x.yml --check|git push -v"""


@over("line", [line for row in LOOKS.splitlines() for line in row.split("|")])
def test_a_command_that_only_looks(line: str) -> None:
    assert [(command.looks, command.trial) for command in commands_in(line)] == [(True, False)]


@over("line", [line for row in DOES.splitlines() for line in row.split("|")])
def test_a_command_that_does_something(line: str) -> None:
    assert [command.looks for command in commands_in(line)] == [False]


TRIALS = """git push --dry-run|git push -n|git add -n .|git clean -fdn|kubectl apply --dry-run=client -f x|make -n test
rsync -avn a b|npm publish --dry-run|terraform plan -out x|helm upgrade x y --dry-run|aws s3 sync a b --dryrun
pulumi preview|ansible-playbook --check x.yml|Remove-Item x -WhatIf|apt-get -s install x|pip install --dry-run x"""
REAL = """git push|kubectl apply --dry-run=none -f x|git commit -n -m x|make -j4 test|rsync -av a b|npm publish
kubectl -n x apply -f y|terraform apply|helm upgrade x y --dry-run=false
xargs -n 1 rm|sudo -n rm x|git push --no-dry-run"""


@over("line", [line for row in TRIALS.splitlines() for line in row.split("|")])
def test_a_trial(line: str) -> None:
    assert [(command.trial, command.looks) for command in commands_in(line)] == [(True, False)]


@over("line", [line for row in REAL.splitlines() for line in row.split("|")])
def test_no_trial(line: str) -> None:
    assert [command.trial for command in commands_in(line)] == [False]


#: Lines, and which of their commands run in the background.
@over(("line", "behind"), [
        ("npm start &", "npm start"),
        ("npm start & pytest", "npm start"),
        ("nohup npm start > log 2>&1", "npm start"),
        ("cd x && npm start & sleep 1; make", "cd,npm start"),
        ("(npm start; make) &", "npm start,make"),
        ("nohup sh -c 'npm start' ; make", "npm start"),
        ("npm start && make 2>&1 &>x", ""),
    ])  # fmt: skip
def test_what_runs_in_the_background(line: str, behind: str) -> None:
    assert ",".join(command.deed for command in commands_in(line) if command.background) == behind


#: Lines of programs a, b, c and d, and those whose failure the line's exit code does not tell.
FORGIVEN = [
    ("a", ""),
    ("a; b", "a"),
    ("a\nb\n", "a"),
    ("a;", ""),
    ("a && b && c", ""),
    ("a || true", "a"),
    ("a || b", "a"),
    ("a || exit 1", ""),
    ("a || exit 0", "a"),
    ("a || { b; exit 1; }", "b"),
    ("a && b || true", "a b"),
    ("a || true && b", "a"),
    ("a && b; c", "a b"),
    ("a | b", "a"),
    ("a | b | c", "a b"),
    ("set -o pipefail; a | b", ""),
    ("set -euo pipefail\na | b\nc", ""),
    ("set -e; a; b", ""),
    ("set -e; a && b; c", "a"),
    ("set -e; a || true; c", "a"),
    ("set -e; set +e; a; b", "a"),
    ("(set -e; a; b); c; d", "a b c"),
    ("! a", "a"),
    ("if a; then b; else c; fi", "a"),
    ("while a; do break; done", "a"),
    ("for x in 1 2; do a; b; done", "a b"),
    ("(a; b)", "a"),
    ("{ a; b; } || true", "a b"),
    ("x=$(a)", ""),
    ("echo $(a)", "a"),
    ("bash -c 'a; b'", "a"),
    ("bash -ec 'a; b'", ""),
    ("bash -c 'a && b' || true", "a b"),
    ("bash -o pipefail -c 'a | b'", ""),
    ("f() { a; b; }; f", "a"),
    ("f() { a; b; }; f || true", "a b"),
    ("a & wait", "a"),
    ("eval 'a; b'", "a"),
    ("time a", ""),
    ("env X=1 a", ""),
    ("case x in x) a; b;; esac", "a"),
    ("a; exit 0", "a"),
]


@over(("line", "forgiven"), FORGIVEN)
def test_a_failure_that_the_exit_code_does_not_tell(line: str, forgiven: str) -> None:
    found = [command for command in commands_in(line) if command.deed in {"a", "b", "c", "d"}]

    assert [command.deed for command in found if command.forgiven] == forgiven.split()


@pytest.mark.skipif(not BASH, reason="bash is the judge")
def test_bash_itself_agrees_on_failures(tmp_path: Path) -> None:
    """Fail one program of each line after the other: where it ran and the line succeeds, it is forgiven."""
    asked = 0
    for line, _ in FORGIVEN:
        for program in "abcd":
            stubs = "".join(
                f"{name}() {{ echo {name} >> log; return {int(name == program) * 7}; }}\n" for name in "abcd"
            )
            log = tmp_path / "log"
            log.write_text("")
            script = f"{stubs}export -f a b c d\nbash -c {shlex.quote(line)}"
            ended = subprocess.run([BASH, "-c", script], cwd=tmp_path, capture_output=True, check=False)
            if program in log.read_text().split():
                asked += 1
                told = [command.forgiven for command in commands_in(line) if command.deed == program]
                assert all(told) == (ended.returncode == 0) or line.startswith("for "), (line, program)
    assert asked > len(FORGIVEN)


PIECES = r"""git push echo ' " $( ) ` ( { } ; && || | & <<EOF EOF if then fi for do done case in esac \ # > < x= [[ ]]
(( )) sudo bash -c ssh host find -exec npx python -m f() f xargs $' ${ <( docker exec ;; -n -- eval while function !"""
pieces = st.lists(st.sampled_from([*PIECES.split(), "\n"]), max_size=40)
lines = st.sampled_from([line for line, expected in DEEDS if expected and "it's" not in line])
#: Lines that stand beside others: no quote, group or here-document of them is open at the end.
closed = st.sampled_from([line for line, _ in DEEDS if line.count("'") % 2 == 0 and not {*"<(`\\#"} & {*line}])


@given(st.text() | pieces.map(" ".join) | pieces.map("".join))
def test_any_text_is_read(script: str) -> None:
    found = commands_in(script)

    assert len(found) <= MOST_COMMANDS
    for command in found:
        assert command.words
        assert command.deed
        assert not any(character.isspace() for character in command.words[0])


@given(pieces.map(" ".join) | lines)
def test_what_is_quoted_for_echo_is_no_deed(script: str) -> None:
    for quoted in (script, *script.split()):
        assert deeds(f"echo {shlex.quote(quoted)}") == ["echo"]
        assert deeds(f"git commit -m {shlex.quote(quoted)} && make") == ["git commit", "make"]


@given(lines)
def test_a_line_after_one_that_succeeds(line: str) -> None:
    assert commands_in(f"true && {line}")[-1] == commands_in(line)[-1]


@given(closed, closed)
def test_lines_one_after_the_other(first: str, second: str) -> None:
    assert deeds(f"{first}\n{second}") == deeds(first) + deeds(second)


@given(lines)
def test_a_script_in_an_argument_runs_as_the_script(line: str) -> None:
    expected = commands_in(line)

    assert commands_in(f"bash -c {shlex.quote(line)}") == expected
    assert commands_in(f"ssh host {shlex.quote(line)}") == expected
    assert [command.words for command in commands_in(f"nohup sh -c {shlex.quote(line)} &")] == [
        command.words for command in expected
    ]


def test_a_script_is_read_up_to_its_bounds() -> None:
    assert deeds("git push;" * 1000) == ["git push"] * MOST_COMMANDS
    assert deeds(f"echo {'x' * MOST_CHARACTERS}; git push") == ["echo"]
    assert deeds("$(" * 5 + "git push" + ")" * 5)[:1] == ["git push"]
    assert "git push" not in deeds("echo " + "$(echo " * 30 + "git push" + ")" * 30)
    assert deeds("sudo " * 3000 + "rm x") == ["rm"]


#: Pieces, between underlines, that a script is full of.
ENDLESS = """$(_((_`_'_"_<<E _<<E\n_sudo _bash -c _f(){ f;};f;_if a;then _x=(_{ _npx _python -m _find -exec _a|_a||_a&&
_case x in x)_git -C _${_[[ _@_-n _$'_a;_eval _docker exec x _"$(_<(_a _1>_for x _((a _$((a) _a\\ _`` _cat <<E$(_(a)
_((a)"""


@over("piece", ENDLESS.split("_"))
def test_an_endless_script_comes_to_an_end(piece: str) -> None:
    """The square of its length would take minutes."""
    assert len(commands_in((piece * MOST_CHARACTERS)[:MOST_CHARACTERS])) <= MOST_COMMANDS


def test_a_command_says_all_of_itself() -> None:
    assert commands_in("cd web && nohup npx jest --ci | tail -5 || true")[:3] == [
        Command(("cd", "web"), "cd", looks=True, trial=False, background=False, forgiven=True),
        Command(("npx", "jest", "--ci"), "jest", looks=False, trial=False, background=True, forgiven=True),
        Command(("tail", "-5"), "tail", looks=True, trial=False, background=False, forgiven=True),
    ]
