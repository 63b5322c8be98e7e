"""A run: its stages in order, its record however it ends, and what is taken over when it is resumed."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from agentguard.errors import GateError, StoreError
from agentguard.gate._config import GateConfig, parse_config
from agentguard.gate._run import STAGES, GateState, Services, evaluate, read_run
from agentguard.gate._types import Case, Chunk, Claim, ClaimVerdict, Passage, Prompt, PromptSet, Reason, Response
from agentguard.gate.records._base import Event, RunSummary, this_process
from agentguard.gate.reports import findings

from ..rows import over

NAMES = ["generate_prompts", "run_model", "extract_claims", "retrieve_evidence", "verify_claims", "score_risk"]
KEYS = ["prompts", "responses", "claims", "evidence", "verdicts", "score"]
HOW = r"\(run (\S+); 'agentguard gate run --resume \1' goes on with it\)"
RETURNS = Chunk("c1", "returns.md", "Returns", "Time", "Returns are accepted within 30 days.", 0, 36)
SHIPPING = Chunk("c2", "shipping.md", "Shipping", "", "Shipping is free above $50.", 0, 27)


class Books:
    """Records in memory; ``broken`` names the kinds of event that they will not take."""

    def __init__(self, *broken: str) -> None:
        self.trail: dict[str, list[Event]] = {}
        self.summaries: dict[str, RunSummary] = {}
        self.broken = broken

    def append(self, run_id: str, event: Event) -> None:
        if event.kind in self.broken:
            raise StoreError("the disk is full")
        self.trail.setdefault(run_id, []).append(event)

    def events(self, run_id: str) -> list[Event]:
        return list(self.trail.get(run_id, []))

    def save(self, summary: RunSummary) -> None:
        self.summaries[summary.run_id] = summary

    def summary(self, run_id: str) -> RunSummary | None:
        return self.summaries.get(run_id)

    def runs(self, limit: int = 100, *, use_case: str | None = None) -> list[RunSummary]:
        return sorted(self.summaries.values(), key=lambda summary: summary.run_id, reverse=True)[:limit]

    def close(self) -> None: ...


class Shelf:
    """Evidence that finds one passage by words and one by meaning."""

    def __init__(self) -> None:
        self.state = "d1"
        self.asked: list[str] = []

    def keyword(self, query: str, limit: int) -> list[Passage]:
        self.asked.append(query)
        return [Passage(RETURNS, 3.0)]

    def vector(self, query: Any, limit: int) -> list[Passage]:
        return [Passage(SHIPPING, 0.9), Passage(RETURNS, 0.8)]

    def digest(self) -> str:
        return self.state


class Lines:
    """Embeddings of no meaning."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0]


class Model:
    name = "test:model"

    def __init__(self, failure: BaseException | None = None) -> None:
        self.failure = failure
        self.asked: list[str] = []

    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        if self.failure is not None:
            raise self.failure
        self.asked += [prompt.text for prompt in prompts]
        return [f"Answer to {prompt.text} It is true. It is false." for prompt in prompts]


class Referee:
    """Two claims a response; the second of each is unsupported."""

    name = "test:judge"

    def __init__(self, failure: BaseException | None = None) -> None:
        self.failure = failure
        self.cases: list[Case] = []

    def write_prompts(self, use_case: str, categories: Sequence[str], number: int) -> list[Prompt]:
        return [Prompt(f"p{n}", f"{use_case} {categories[n % len(categories)]}?") for n in range(1, number + 1)]

    def extract_claims(self, responses: Sequence[Response]) -> list[list[Claim]]:
        return [
            [Claim(f"{said.prompt_id}.c{n}", said.prompt_id, text) for n, text in enumerate(["True.", "False."], 1)]
            for said in responses
        ]

    def verify(self, cases: Sequence[Case]) -> list[ClaimVerdict]:
        if self.failure is not None:
            raise self.failure
        self.cases += cases
        return [
            ClaimVerdict(
                case.claim.id,
                "supported" if case.claim.text == "True." else "unsupported",
                (Reason("judge", "as the test has it"),),
                case.passages[0].chunk.id,
                "",
                self.name,
            )
            for case in cases
        ]


CONFIG = {
    "use_case": "help desk",
    "doc_sources": [{"type": "local", "path": "docs"}],
    "evaluation": {"num_prompts": 2, "passages": 2},
}


@pytest.fixture
def config() -> GateConfig:
    return parse_config(CONFIG)


def services(
    books: Books, *, model: Any = None, referee: Any = None, shelf: Any = None, prompts: Any = None
) -> Services:
    return Services(model or Model(), referee or Referee(), Lines(), shelf or Shelf(), books, prompts)


def test_a_whole_run(config: GateConfig) -> None:
    books, shelf, referee = Books(), Shelf(), Referee()
    begun: list[tuple[str, tuple[str, ...]]] = []

    run = evaluate(
        config,
        services(books, shelf=shelf, referee=referee),
        on_stage=lambda name, run: begun.append((name, run.state.written)),
    )

    assert begun == [(name, tuple(KEYS[:number])) for number, name in enumerate(NAMES)]
    assert [claim.id for claim in run.state.claims] == ["p1.c1", "p1.c2", "p2.c1", "p2.c2"]
    assert shelf.asked == ["True.", "False.", "True.", "False."]
    # Both searches find the passage on returns, in first and in second place: it comes before the other one's first.
    assert [[passage.chunk.id for passage in case.passages] for case in referee.cases] == [["c1", "c2"]] * 4
    assert (run.score.risk, run.decision) == (0.5, "block")
    assert (run.summary.status, run.summary.decision, run.summary.unsupported) == ("finished", "block", 2)
    assert run.summary.evidence_digest == "d1"


def test_the_trail_is_complete_and_reads_back(config: GateConfig) -> None:
    books = Books()
    run = evaluate(config, services(books))

    kinds = [event.kind for event in books.events(run.run_id)]
    stages = [event.body["name"] for event in books.events(run.run_id) if event.kind == "stage"]
    again = read_run(run.run_id, books)

    assert kinds == ["started", *["stage"] * 6, "finished"]
    assert stages == NAMES
    assert again.summary == run.summary == books.summaries[run.run_id]
    assert all(again.state.read(key) == run.state.read(key) for key in KEYS)
    assert again.state.config.digest == config.digest


def test_given_prompts_are_asked_in_place_of_written_ones(config: GateConfig) -> None:
    model = Model()
    prompts = (Prompt("mine", "Is it so?"),)

    run = evaluate(config, services(Books(), model=model, prompts=(PromptSet("own", "2", prompts),)))

    assert model.asked == ["Is it so?"]
    assert run.state.prompts == prompts
    assert run.summary.prompt_sets == "own 2"


def test_of_several_sets_every_prompt_is_asked_once_and_known_by_its_set() -> None:
    first = PromptSet("returns", "3", (Prompt("p1", "Who pays?"), Prompt("p2", "How long?")))
    second = PromptSet("on shipping", "", (Prompt("p1", "How long?"), Prompt("p2", "How far?")))
    config = parse_config({**CONFIG, "evaluation": {"num_prompts": 1, "prompts": ["a", "b"], "also_generate": True}})

    run = evaluate(config, services(Books(), prompts=(first, second)))

    assert [prompt.id for prompt in run.state.prompts] == ["returns.p1", "returns.p2", "on-shipping.p2", "generated.p1"]
    assert run.state.prompts[2].text == "How far?"
    assert run.summary.prompt_sets == "returns 3, on shipping"


def test_a_failed_run_is_recorded_and_told_by_its_stage(config: GateConfig) -> None:
    books = Books()

    with pytest.raises(GateError, match=f"^run_model: no answer to p2 {HOW}$") as caught:
        evaluate(config, services(books, model=Model(GateError("no answer to p2"))))

    (summary,) = books.runs()
    assert (caught.value.stage, caught.value.run_id) == ("run_model", summary.run_id)
    assert (summary.status, summary.error) == ("failed", "run_model: no answer to p2")
    assert [event.kind for event in books.events(summary.run_id)] == ["started", "stage", "failed"]


def test_what_a_foreign_exception_says_is_not_repeated(config: GateConfig) -> None:
    books = Books()

    told = rf"^verify_claims: KeyError was raised by verify \(test_pipeline.py, line \d+: raise self.failure\) {HOW}$"
    with pytest.raises(GateError, match=told) as caught:
        evaluate(config, services(books, referee=Referee(KeyError("the secret answer"))))

    assert isinstance(caught.value.__cause__, KeyError)
    assert "secret" not in books.runs()[0].error


def test_an_interrupted_run_is_recorded_and_the_interruption_goes_on(config: GateConfig) -> None:
    books = Books()

    with pytest.raises(KeyboardInterrupt):
        evaluate(config, services(books, model=Model(KeyboardInterrupt())))

    assert books.runs()[0].status == "interrupted"


def test_nothing_runs_that_cannot_be_recorded(config: GateConfig) -> None:
    model = Model()

    with pytest.raises(StoreError, match="the disk is full"):
        evaluate(config, services(Books("started"), model=model))

    assert model.asked == []


def test_a_failure_that_cannot_be_recorded_is_told_with_its_reason(config: GateConfig) -> None:
    books = Books("failed")

    with pytest.raises(GateError, match=r"run_model: gone; and it could not be recorded: the disk is full"):
        evaluate(config, services(books, model=Model(GateError("gone"))))


def test_resuming_takes_over_what_is_done(config: GateConfig) -> None:
    books = Books()
    first, second = Model(), Model()
    with pytest.raises(GateError):
        evaluate(config, services(books, model=first, referee=Referee(GateError("no"))))
    failed = books.runs()[0].run_id

    run = evaluate(config, services(books, model=second), resume=failed)

    assert run.run_id == failed
    assert (first.asked != [], second.asked) == (True, [])
    assert run.summary.status == "finished"
    assert run.summary.error == ""
    kinds = [event.kind for event in books.events(failed)]
    assert kinds == ["started", *["stage"] * 4, "failed", "resumed", "stage", "stage", "finished"]


def test_what_cannot_be_resumed(config: GateConfig) -> None:
    books, shelf = Books(), Shelf()
    finished = evaluate(config, services(books)).run_id
    with pytest.raises(GateError):
        evaluate(config, services(books, referee=Referee(GateError("no"))))
    failed = next(run.run_id for run in books.runs() if run.status == "failed")
    shelf.state = "d2"

    with pytest.raises(GateError, match="is finished; there is nothing to resume"):
        evaluate(config, services(books), resume=finished)
    with pytest.raises(GateError, match="there is no run 'nobody' in the records"):
        evaluate(config, services(books), resume="nobody")
    with pytest.raises(GateError, match="began with another configuration"):
        evaluate(config.model_copy(update={"use_case": "other"}), services(books), resume=failed)
    with pytest.raises(GateError, match="the documents have changed since"):
        evaluate(config, services(books, shelf=shelf), resume=failed)


def test_of_two_that_resume_a_run_at_once_one_goes_on(config: GateConfig) -> None:
    class Overtaken(Books):
        """Another process resumes the run while this one is about to."""

        def append(self, run_id: str, event: Event) -> None:
            if event.kind == "resumed" and not self.overtaken:
                self.overtaken = True
                evaluate(config, services(self), resume=run_id)
            super().append(run_id, event)

        overtaken = False

    books = Overtaken()
    with pytest.raises(GateError):
        evaluate(config, services(books, referee=Referee(GateError("no"))))
    failed = books.runs()[0].run_id
    referee = Referee()

    with pytest.raises(GateError, match="has just been resumed by another process"):
        evaluate(config, services(books, referee=referee), resume=failed)

    assert referee.cases == []
    assert books.runs()[0].status == "finished"
    assert read_run(failed, books).score.risk == 0.5


def test_a_run_that_was_resumed_and_goes_on_is_not_resumed_again(config: GateConfig) -> None:
    books = Books()
    with pytest.raises(GateError):
        evaluate(config, services(books, referee=Referee(GateError("no"))))
    failed = books.runs()[0].run_id
    books.append(failed, Event("resumed", 1.0, {"after": [], "process": this_process(), "taken": "1f"}))

    with pytest.raises(GateError, match="is still running, as process"):
        evaluate(config, services(books), resume=failed)


def test_a_stage_of_ones_own_writes_a_key_of_its_own(config: GateConfig) -> None:
    def classify_claims(state: GateState, services: Services) -> None:
        state.write("topics", {claim.id: claim.text.casefold() for claim in state.claims})

    books = Books()
    stages = [*STAGES[:3], classify_claims, *STAGES[3:]]

    run = evaluate(config, services(books), stages=stages)

    assert run.state.read("topics")["p1.c1"] == "true."
    assert read_run(run.run_id, books).state.read("topics") == run.state.read("topics")


def test_a_stage_that_overwrites_an_earlier_one_fails_the_run(config: GateConfig) -> None:
    def rewrite(state: GateState, services: Services) -> None:
        state.prompts = ()

    with pytest.raises(GateError, match=r"^rewrite: the state is append-only: 'prompts' is already written"):
        evaluate(config, services(Books()), stages=[*STAGES[:2], rewrite])


def test_an_agent_of_one_argument_is_given_the_state_as_a_dictionary(config: GateConfig) -> None:
    def classify_claims(state: dict[str, Any]) -> None:
        state["topics"] = {claim["id"]: claim["text"].casefold() for claim in state["claims"]}
        state["asked"] = [state["config"]["num_prompts"], *state["prompts"], state["responses"][0]["prompt"]]

    books = Books()
    run = evaluate(config, services(books), stages=[*STAGES[:3], classify_claims, *STAGES[3:]])

    assert run.state.read("topics") == {"p1.c1": "true.", "p1.c2": "false.", "p2.c1": "true.", "p2.c2": "false."}
    first, second = (prompt.text for prompt in run.state.prompts)
    assert run.state.read("asked") == [2, first, second, first]
    assert [event.body["name"] for event in books.events(run.run_id) if event.kind == "stage"][3] == "classify_claims"


def test_agents_of_one_argument_may_be_all_there_are(config: GateConfig) -> None:
    """The document's forms are enough: each item has what the document shows of it, and no more."""

    def ask(state: dict[str, Any]) -> None:
        state["prompts"] = ["Who pays?", "How long?"]

    def answer(state: dict[str, Any]) -> None:
        state["responses"] = [{"prompt": prompt, "response": f"{prompt} You."} for prompt in state["prompts"]]

    def split(state: dict[str, Any]) -> None:
        state["claims"] = [{"text": "How long? You."}, {"text": "It is said nowhere."}]

    def search(state: dict[str, Any]) -> None:
        documents = [{"content": "You pay."}, {"content": "We pay.", "title": "Ours", "score": 0.5}]
        state["evidence"] = [{"claim": claim, "documents": documents} for claim in state["claims"]]

    def verify(state: dict[str, Any]) -> None:
        state["verdicts"] = [{"label": "supported"}, {"label": "perhaps"}]

    def score(state: dict[str, Any]) -> None:
        state["score"] = {"risk": 0.5, "decision": "warn", "total_claims": 2, "supported": 1, "weakly_supported": 0,
                          "unsupported": 1}  # fmt: skip

    run = evaluate(config, services(Books()), stages=[ask, answer, split, search, verify, score])

    assert [(claim.id, claim.prompt_id) for claim in run.state.claims] == [("p2.c1", "p2"), ("p1.c2", "p1")]
    assert [verdict.label for verdict in run.state.verdicts] == ["supported", "unsupported"]
    assert run.state.verdicts[1].reasons[0].kind == "unreadable"
    assert [(each.chunk.text, each.chunk.title, each.score) for each in run.state.evidence[0].passages] == [
        ("You pay.", "", 1.0),
        ("We pay.", "Ours", 0.5),
    ]
    assert (run.decision, run.summary.status, len(findings(run.state))) == ("warn", "finished", 2)


@over(
    ("change", "told"),
    [
        (lambda state: state["claims"][0].update(text="else"), "the state is append-only: 'claims' is already written"),
        (lambda state: state.pop("prompts"), "the state is append-only: 'prompts' is already written"),
        (lambda state: state["config"].update(use_case="x"), "the state is append-only: 'config' is already written"),
        (lambda state: state.update(topics={1, 2}), "'topics' must be JSON"),
        (lambda state: state.update(verdicts=["secret"]), r"'verdicts' must be a list of \{label\}, one a claim$"),
        (lambda state: state.update(verdicts=[{"label": "supported"}]), "'verdicts' must be a list of"),
        (lambda state: state.update(evidence=[{"documents": []}]), "'evidence' must be a list of"),
        (lambda state: state.update(score={"risk": 2.0}), r"'score' must be \{risk, decision, total_claims"),
    ],
)
def test_an_agent_that_breaks_the_rules_is_named(change: Any, told: str) -> None:
    def meddle(state: dict[str, Any]) -> None:
        change(state)

    with pytest.raises(GateError) as caught:
        evaluate(parse_config(CONFIG), services(Books()), stages=[*STAGES[:3], meddle])

    assert re.match(f"meddle: {told}", str(caught.value).partition(" (run ")[0])


class Topics:
    def __call__(self, state: dict[str, Any]) -> None:
        state["topics"] = [claim["topic"] for claim in state["claims"]]


def test_what_an_agent_raises_is_told_by_the_line_of_its_code(config: GateConfig) -> None:
    code = r'\(test_pipeline.py, line \d+: state\["topics"\] = \[claim\["topic"\] for claim in state\["claims"\]\]\)'

    with pytest.raises(GateError, match=rf"^Topics: KeyError was raised by \S+ {code} {HOW}$"):
        evaluate(config, services(Books()), stages=[*STAGES[:3], Topics()])


class Mute(Model):
    def respond(self, prompts: Sequence[Prompt]) -> list[str]:
        return []


def test_a_target_that_answers_too_little(config: GateConfig) -> None:
    with pytest.raises(GateError, match="run_model: test:model gave 0 answers to 2 prompts"):
        evaluate(config, services(Books(), model=Mute()))


class Forgetful(Referee):
    def verify(self, cases: Sequence[Case]) -> list[ClaimVerdict]:
        return super().verify(cases)[:-1]


def test_a_judge_that_forgets_a_claim(config: GateConfig) -> None:
    with pytest.raises(GateError, match="verify_claims: test:judge did not give one verdict a claim"):
        evaluate(config, services(Books(), referee=Forgetful()))


def test_equal_prompts_have_equal_digests(config: GateConfig) -> None:
    books = Books()
    one = evaluate(config, services(books)).summary
    two = evaluate(config, services(books)).summary
    other = evaluate(
        config, services(books, prompts=(PromptSet("other", "", (Prompt("p1", "Something else?"),)),))
    ).summary

    assert one.run_id != two.run_id
    assert one.prompts_digest == two.prompts_digest != other.prompts_digest
