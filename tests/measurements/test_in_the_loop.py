"""The guard in the loop: a company whose tools do what they say, faults that do what their names say, and the score."""

import json
from itertools import chain, repeat
from random import Random
from types import SimpleNamespace

import pytest
from detection_runs import ROOT
from in_the_loop import contestants, faults
from in_the_loop.agent import MOST_ASKED, Agent, Given, Told, read
from in_the_loop.board import ROWS, Board, BoardError
from in_the_loop.contestants import Nothing
from in_the_loop.course import ContestantFailedError, Course, Entrant, ran
from in_the_loop.faults import KINDS, Fault, Past, Struck
from in_the_loop.model import ChatAgent
from in_the_loop.page import goal_lines, page
from in_the_loop.plan import Sizes, planned
from in_the_loop.runs import Episode, Run, Stage, outcome_of, run_episode, scenery
from in_the_loop.score import counts, digest, reduced, row
from in_the_loop.tasks import TEMPLATES, Task, tasks
from in_the_loop.tools import TOOLS
from in_the_loop.traffic import Answer, Made, answered, company
from in_the_loop.world import ToolError
from jsonschema import Draft202012Validator
from lasting.forks import can_fork

from ..rows import over

FORKS = pytest.mark.skipif(not can_fork(), reason="runs are made in copies of a process")


@pytest.fixture(scope="module")
def firm(tmp_path_factory):
    """A company with a few days of work behind it."""
    return company(7, tmp_path_factory.mktemp("company"), days=4, sessions=40)


@pytest.fixture(scope="module")
def past(firm):
    return Past(firm.traffic, firm.yesterday)


@pytest.fixture
def stage(firm, past):
    with scenery(firm.today) as made, Stage(made, past) as stage:
        yield stage


@pytest.fixture
def world(stage):
    return stage.world


def struck(world, past, kind, tool, seed=1, args=None):
    return Struck(world, Fault(kind, tool, seed, args), past)


def asked(tools, tool, **args):
    return tools(tool, args, Random(0))


def any_order(world):
    sql = "SELECT order_id FROM items GROUP BY order_id ORDER BY COUNT(*) DESC, order_id"
    return world.rows(sql)[0]["order_id"]


# --- The company ---


def test_writes_are_seen_by_the_tools_that_read(world):
    order = world.create_order(customer_id=3, sku="KIT-001", quantity=1)
    there = world.get_order(order["order_id"])
    assert (there["customer_id"], there["total"], there["items"][0]["sku"]) == (3, order["total"], "KIT-001")
    world.set_price("KIT-001", 9.5)
    assert world.get_product("KIT-001")["price"] == world.warehouse_item("KIT-001")["list_price"] == 9.5
    before = world.get_product("KIT-002")["stock"]
    assert world.add_stock("KIT-002", 4)["stock"] == world.get_product("KIT-002")["stock"] == before + 4
    ticket = world.open_ticket(2, "lost", "low")["ticket_id"]
    assert world.get_ticket(ticket)["status"] == "open"
    world.close_ticket(ticket)
    assert world.get_ticket(ticket)["status"] == "closed"
    event = world.add_event("Review", "2025-07-01T09:00", "2025-07-01T10:00", "Birch")["event_id"]
    world.move_event(event, "2025-07-02T09:00", "2025-07-02T10:00")
    assert [one["event_id"] for one in world.list_events("2025-07-02")["events"]].count(event) == 1
    world.write_file("a/b.txt", "one\n")
    world.append_line("a/b.txt", "two")
    assert world.run_command("cat a/b.txt") == "exit code 0\none\ntwo\n"


def test_tools_refuse_what_cannot_be(world):
    for tool, args in (
        ("get_order", {"order_id": 1}), ("find_customer", {"email": "nobody@example.com"}),
        ("read_file", {"path": "../shop.sqlite"}), ("get_rate", {"currency": "XXX"}),
        ("create_order", {"customer_id": 1, "sku": "KIT-001", "quantity": 10_000}),
        ("set_status", {"order_id": any_order(world), "status": "lost"}), ("get_order", {"number": 3}),
    ):  # fmt: skip
        with pytest.raises(ToolError):
            world.call(tool, args)


def test_what_is_undone_leaves_nothing_behind(world):
    before = world.state()
    with world.undone():
        world.create_order(customer_id=1, sku="KIT-001", quantity=1)
        world.close_ticket(world.list_tickets("open")["tickets"][0]["ticket_id"])
        world.append_line("logs/agent.log", "here")
        world.write_file("summaries/new.txt", "x")
        (world.files / "settings.ini").unlink()
        assert world.state() != before
    assert world.state() == before


def test_traffic_is_the_same_for_the_same_seed_and_all_answers_keep_to_the_schemas(firm, tmp_path):
    again = company(7, tmp_path, days=4, sessions=40)
    assert again.traffic == firm.traffic
    validators = {name: Draft202012Validator(dict(tool.output_schema)) for name, tool in TOOLS.items()}
    assert len({one.tool for one in firm.traffic}) > 20
    for one in firm.traffic:
        assert one.answer.is_error or validators[one.tool].is_valid(one.answer.value), one


def test_without_faults_the_agent_ends_right_at_every_kind_of_task(stage):
    ends = {
        name: [run_episode(Nothing(), Episode([task]), stage)[0].outcome for task in tasks(stage.world, 3, 2, [name])]
        for name in TEMPLATES
    }
    assert ends == {name: ["success"] * 2 for name in TEMPLATES}


# --- The agent ---


def scripted(*told):
    """What a call is told, one after the other; the last one for ever."""
    calls = []
    answers = chain(told, repeat(told[-1]))

    def call(tool, args):
        calls.append((tool, dict(args)))
        return next(answers)

    return call, calls


RIGHT, OTHER = Told('{"price": 5}'), Told('{"cost": 5}')
DOUBTED, WITHHELD = Told('{"price": 9} [may be wrong]', "doubted"), Told("blocked: call the tool again", "withheld")


@over(
    ("told", "answer", "calls"),
    [
        ((RIGHT,), 5, 1),
        ((WITHHELD, RIGHT), 5, 2),
        ((DOUBTED, DOUBTED, RIGHT), 5, 3),
        ((DOUBTED,), None, MOST_ASKED),
        ((Told("blocked", "withheld", again=False), RIGHT), None, 1),
        ((OTHER, RIGHT), 5, 2),
        ((OTHER,), None, 2),
        ((Told('{"error": "no product"}'), RIGHT), None, 1),
        ((Told("price: 5"),), None, 2),
    ],
)
def test_the_agent_keeps_to_its_policy_with_a_read(told, answer, calls):
    call, made = scripted(*told)
    given = Agent(call).work(lambda agent: agent.ask("get_product", "price", sku="A")["price"])
    assert (given.answer, len(made), bool(given.failure)) == (answer, calls, answer is None)


@pytest.mark.parametrize(("tool", "calls"), [("create_order", 1), ("set_price", 2)])
def test_it_repeats_a_write_only_where_that_does_no_harm(tool, calls):
    call, made = scripted(WITHHELD, RIGHT)
    Agent(call).work(lambda agent: agent.ask(tool, sku="A"))
    assert len(made) == calls


def test_of_what_is_cut_off_it_reads_what_is_there():
    assert read('{"orders": [{"id": 1, "total": 2.5}, {"id": 2, "tot') == {
        "orders": [{"id": 1, "total": 2.5}, {"id": 2}]
    }
    assert read('{"name": "a \\"b", "ci') == {"name": 'a "b'}
    assert read("exit code 0\n7") == "exit code 0\n7"


# --- Faults ---


def test_every_kind_is_told_of_where_faults_are_listed():
    for kind in KINDS:
        assert f"\n{kind}" in (faults.__doc__ or "")


def test_a_single_fault_is_gone_when_the_call_is_made_again(world, past):
    number = any_order(world)
    right = world.get_order(number)
    tools = struck(world, past, "scaled", "get_order", args={"order_id": number})
    other = world.rows("SELECT order_id FROM orders WHERE order_id <> ?", number)[0]["order_id"]
    assert asked(tools, "get_order", order_id=other).value == world.get_order(other)
    assert asked(tools, "get_order", order_id=number).value != right
    assert asked(tools, "get_order", order_id=number).value == right
    assert tools.shown == 1


def test_a_lasting_fault_keeps_to_its_field_and_factor(world, past):
    tools = struck(world, past, "scaled", "get_quote", seed=4)
    factors = set()
    for ticker in ("ALDR", "BOWN", "CRSK"):
        right, wrong = world.get_quote(ticker), asked(tools, "get_quote", ticker=ticker).value
        (field,) = [name for name in right if right[name] != wrong[name]]
        factors.add((field, round(wrong[field] / right[field], 1)))
    assert len(factors) == 1
    assert factors.pop()[1] in (0.1, 10, 100, 1_000)


def test_stale_is_what_was_so_before_the_night(world, past):
    row = world.rows("SELECT sku, price FROM products ORDER BY sku")
    tools = struck(world, past, "stale", "get_product")
    wrong = [one for one in row if asked(tools, "get_product", sku=one["sku"]).value["price"] != one["price"]]
    assert wrong  # half of the prices change in a night
    assert {asked(tools, "get_product", sku=one["sku"]).value["updated_on"] for one in wrong} != {world.today}


def test_swaps_answer_what_others_were_asked(world, past):
    number = any_order(world)
    other = asked(struck(world, past, "swapped_args", "get_order"), "get_order", order_id=number).value
    assert other == world.get_order(other["order_id"])
    assert other["order_id"] != number
    foreign = asked(struck(world, past, "swapped_tool", "get_order"), "get_order", order_id=number).value
    assert not isinstance(foreign, dict) or set(foreign) != set(world.get_order(number))


def test_rows_are_lost_and_foreign_ones_come_in(world, past):
    category, right = "garden", world.search_products("garden")
    lost = asked(struck(world, past, "lost_rows", "search_products"), "search_products", category=category).value
    assert lost["products"] == right["products"][:4]  # of seven
    more = asked(struck(world, past, "foreign_row", "search_products"), "search_products", category=category).value
    assert more["products"][:-1] == right["products"]
    assert more["products"][-1] not in right["products"]
    text = world.read_file("sales/2025-05.csv")
    short = asked(struck(world, past, "lost_rows", "read_file"), "read_file", path="sales/2025-05.csv").value
    assert text.startswith(short)
    assert short.startswith("day,product")


def test_values_are_negated_shifted_recoded_mixed_and_cut(world, past):
    number = any_order(world)
    right = world.get_order(number)

    def changed(kind, seed):
        wrong = asked(struck(world, past, kind, "get_order", seed), "get_order", order_id=number).value
        return {name: (right[name], wrong[name]) for name in right if right[name] != wrong[name]}

    for seed in range(6):
        for name, (before, after) in changed("negated", seed).items():
            assert name == "items" or after == (not before if isinstance(before, bool) else -before)
        for name, (before, after) in changed("shifted", seed).items():
            assert name in ("placed_on", "due_on")
            assert len(after) == len(before) == 10
        assert set(changed("recoded", seed)) <= {"status", "currency", "items"}
        assert len(changed("mixed", seed)) <= 1
    cut = asked(struck(world, past, "truncated", "get_order"), "get_order", order_id=number).value
    assert json.dumps(right).startswith(cut)


def test_what_is_not_called_changes_nothing_and_answers_at_once(world, past):
    before = world.state()
    for kind in ("noop", "invented", "mock"):
        tools = struck(world, past, kind, "set_price")
        answer = asked(tools, "set_price", sku="KIT-001", price=1.25)
        assert world.state() == before
        assert tools.shown == 1
        assert answer.value["sku"] == "KIT-001"
        assert (answer.ms <= 1.0) == (kind != "noop")
    assert (
        asked(struck(world, past, "noop", "set_price"), "set_price", sku="KIT-001", price=1.25).value["price"] == 1.25
    )


def test_a_read_cannot_be_a_silent_no_op_and_errors_are_not_struck(world, past):
    tools = struck(world, past, "noop", "get_product")
    assert asked(tools, "get_product", sku="KIT-001").value == world.get_product("KIT-001")
    assert asked(struck(world, past, "mock", "get_product"), "get_product", sku="none").is_error
    assert tools.shown == 0


# --- Runs ---


class Refusing:
    """Withholds every answer of one tool."""

    def __init__(self, tool):
        self._tool = tool

    def learn(self, traffic):
        raise AssertionError("nothing is to be learned here")

    def begin(self, tools, session):
        def call(tool, args):
            text = json.dumps(tools(tool, args).value)
            return Told("no", "withheld", verdict="block") if tool == self._tool else Told(text)

        return call


def test_a_silent_no_op_is_silent_without_a_guard_and_reported_where_it_is_withheld(stage):
    (task, *others) = tasks(stage.world, 3, 2, ["raise_price"])
    fault = Fault("noop", "set_price", 1)
    episode = Episode([task, *others], fault, "lasting", [True, False])
    unguarded, after = run_episode(Nothing(), episode, stage)
    assert (unguarded.outcome, unguarded.shown, unguarded.noticed, unguarded.matters) == ("silent", 1, False, True)
    assert (after.mode, after.outcome, after.shown) == ("after", "success", 0)
    refused, _ = run_episode(Refusing("set_price"), episode, stage)
    assert (refused.outcome, refused.noticed, refused.refused, refused.calls) == ("reported", True, 3, 4)
    assert stage.world.state() == stage.state


def test_what_is_right_is_held_against_answer_and_state():
    before, done = {"a/1/x": 1, "b/1/y": 2}, {"a/1/x": 5, "b/1/y": 2}
    wanted = {"a/1/x": 5}
    answered_right, wrong, failed = Given(5, "", 0, 1), Given(6, "", 0, 1), Given(None, "no", 0, 1)
    assert outcome_of(answered_right, 5, before, done, wanted) == "success"
    assert outcome_of(wrong, 5, before, done, wanted) == "silent"
    assert outcome_of(answered_right, 5, before, before, wanted) == "silent"
    assert outcome_of(answered_right, 5, before, {**done, "b/1/y": 3}, wanted) == "silent"  # more than was asked for
    assert outcome_of(answered_right, 5, before, {**done, "c/1/z": 1}, wanted) == "silent"
    assert outcome_of(failed, 5, before, done, wanted) == "reported"
    assert outcome_of(Given(2.501, "", 0, 1), 2.5, before, before, {}) == "success"
    assert outcome_of(Given(True, "", 0, 1), 1.0, before, before, {}) == "success"


def test_the_guard_with_recovery_catches_what_only_another_call_can_tell(stage, firm):
    guard = contestants.recover()
    guard.learn(firm.traffic)
    (task,) = tasks(stage.world, 3, 1, ["place_order"])
    (run,) = run_episode(guard, Episode([task], Fault("noop", "create_order", 1), "single", [True]), stage)
    assert (run.outcome, run.noticed) == ("reported", True)
    (task,) = tasks(stage.world, 3, 1, ["raise_price"])
    fault = Fault("noop", "set_price", 1, None)
    (lasting,) = run_episode(guard, Episode([task], fault, "single", [True]), stage)
    assert lasting.outcome == "reported"
    assert lasting.tool_calls > lasting.calls


# --- The plan, the course and the board ---


@FORKS
def test_the_plan_is_the_same_for_the_same_seed_and_what_matters_fails_without_a_guard(firm, stage):
    sizes = Sizes(("order_total", "pack_order"), ("noop", "scaled", "mock"), 1, 2)
    episodes = planned(firm, 5, sizes)
    assert planned(firm, 5, sizes) == episodes
    assert [len(episode.tasks) for episode in episodes if episode.mode == "clean"] == [2, 2]
    assert {episode.fault.kind for episode in episodes if episode.fault} >= {"scaled", "mock"}
    for episode in episodes:
        for run in run_episode(Nothing(), episode, stage):
            assert (run.outcome != "success") == run.matters


@FORKS
def test_a_contestant_runs_in_a_process_of_its_own(firm, tmp_path):
    episodes = planned(firm, 5, Sizes(("order_total",), ("scaled",), 1, 2))
    (tmp_path / "mine.py").write_text(
        "from in_the_loop.contestants import Nothing\n\n\nclass Mine(Nothing):\n    pass\n", encoding="utf-8"
    )
    course = Course(firm, episodes)
    done = []
    result = ran(Entrant("mine", "mine", "mine:Mine", "", path=[str(tmp_path)]), course, done.append)
    assert sum(done) == len(episodes)
    assert len(result.runs) == sum(len(episode.tasks) for episode in episodes)
    with pytest.raises(ContestantFailedError, match="ended with code 1"):
        ran(Entrant("none", "none", "mine:Missing", "", path=[str(tmp_path)]), course, done.append)


def made_row(key, *outcomes, agent="scripted"):
    """A row with one run a mode and outcome."""
    runs = [Run("raise_price", 0, "noop", "set_price", "single", True, end, 1, end == "reported") for end in outcomes]
    runs += [Run("raise_price", 0, "noop", "set_price", "lasting", True, end, 1, end == "reported") for end in outcomes]
    runs.append(Run("raise_price", 1, "", "", "clean", False, "success", calls=2, tool_calls=2, read=400))
    about = {"key": key, "name": key, "version": "", "about": "as it is.", "agent": agent}
    return row(
        about,
        runs,
        digest(1, [Episode([Task("raise_price", 0, {})], Fault("noop", "set_price", 1), "single", [True])]),
        0.5,
    )


NONE = made_row("none", "silent", "silent", "silent", "silent")
OURS = made_row("agentguard-recovery", "success", "reported", "reported", "silent")


def test_the_score_is_counted_from_the_runs():
    assert NONE["single"] == {"runs": 4, "success": 0, "silent": 4, "reported": 0, "noticed": 0}
    assert OURS["kinds"]["noop"]["lasting"] == {"runs": 4, "success": 1, "silent": 1, "reported": 2, "noticed": 2}
    assert OURS["cost"]["clean"] == {
        "calls": 2.0, "tool_calls": 2.0, "tokens": 100.0, "tool_ms": 0.0, "guard_ms_a_call": 0.0,
    }  # fmt: skip
    assert reduced(OURS["single"], NONE["single"]) == 0.75
    assert reduced(OURS["single"], counts([])) is None
    figures = [line.figure for line in goal_lines([NONE, OURS])]
    assert figures == [0.75, 0.75, 0.25, 0.0, 0.75]
    assert [line.goal.reached(line.figure) for line in goal_lines([NONE, OURS])] == [False, False, True, True, False]
    assert goal_lines([OURS]) == []


def test_the_page_is_made_of_the_rows_alone():
    text = page([OURS, NONE])
    assert text == page([NONE, OURS])
    assert "| none | scripted | 100.0% | 0.0% | 100.0% |" in text
    assert "| noop | 8 | 100.0% (0.0%) | 25.0% (25.0%) |" in text


def test_the_board_takes_rows_and_refuses_what_is_none(tmp_path):
    board = Board(tmp_path)
    with pytest.raises(BoardError, match="no row"):
        board.rows()
    for entry in (NONE, OURS):
        board.put(entry)
    assert {entry["contestant"]["key"] for entry in board.rows()} == {"none", "agentguard-recovery"}
    other = {
        **NONE,
        "contestant": {**NONE["contestant"], "key": "other"},
        "course": {**NONE["course"], "digest": "0" * 16},
    }
    path = board.put(other)
    with pytest.raises(BoardError, match="different courses"):
        board.rows()
    path.write_text(json.dumps({**NONE, "clean": {"runs": -1}}))
    with pytest.raises(BoardError, match="clean"):
        board.rows()
    path.write_text("{")
    with pytest.raises(BoardError, match="no JSON"):
        board.rows()


def test_the_committed_rows_are_of_one_course_and_the_page_is_theirs():
    assert (ROOT / "docs/in-the-loop.md").read_text(encoding="utf-8") == page(Board(ROWS).rows())


# --- A chat model as the agent ---


class Chatting:
    """A chat model of langchain-core's messages: calls a tool, then answers."""

    def __init__(self, *said):
        self._said = list(said)
        self.seen = []

    def bind_tools(self, specs):
        assert {spec["function"]["name"] for spec in specs} == set(TOOLS)
        return self

    def invoke(self, messages):
        self.seen.append(list(messages))
        return self._said.pop(0)


def test_a_chat_model_works_with_the_same_calls():
    messages = pytest.importorskip("langchain_core.messages")
    asks = messages.AIMessage("", tool_calls=[{"name": "get_order", "args": {"order_id": 7}, "id": "c1"}])
    model = Chatting(asks, messages.AIMessage('Done.\n{"answer": 12.5}'))
    call, made = scripted(Told('{"total": 12.5}'))
    given = ChatAgent(model)(SimpleNamespace(), "What is the total of order 7?", call)
    assert (given.answer, given.failure, given.calls, given.read) == (12.5, "", 1, len('{"total": 12.5}'))
    assert made == [("get_order", {"order_id": 7})]
    assert model.seen[1][-1].content == '{"total": 12.5}'
    failing = Chatting(messages.AIMessage('{"failure": "cannot be trusted"}'))
    assert ChatAgent(failing)(SimpleNamespace(), "What?", call).failure == "cannot be trusted"
    rambling = Chatting(messages.AIMessage("It is 12.5, I think."))
    assert ChatAgent(rambling)(SimpleNamespace(), "What?", call).answer is None


def test_times_told_to_guards_are_drawn_and_not_measured(world):
    draws = [answered(world, "get_product", {"sku": "KIT-001"}, Random(3)).ms for _ in range(2)]
    assert draws[0] == draws[1]
    assert isinstance(Made("s", "t", {}, Answer(1, False, draws[0])).answer.ms, float)
