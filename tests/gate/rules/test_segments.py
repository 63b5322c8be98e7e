"""Segments of sentences: what each states of whom, what it leaves to the one before, what denies and restricts it."""

from hypothesis import example, given
from hypothesis import strategies as st

from agentguard.gate.rules._reading import Reading
from agentguard.gate.rules._segments import Segment

from ...rows import over


def words(reading: Reading, tokens: range | tuple[int, ...]) -> str:
    return " ".join(reading.text[reading.tokens[token].start : reading.tokens[token].end] for token in tokens)


def parts(text: str) -> list[tuple[str, str]]:
    """The words of each segment, and its subject."""
    reading = Reading(text)
    return [(words(reading, range(each.first, each.last)), words(reading, each.subject)) for each in reading.segments]


def last(text: str) -> tuple[Reading, Segment]:
    reading = Reading(text)
    return reading, reading.segments[-1]


@over(
    ("text", "expected"),
    [
        (
            "Filters cost €3 and lids cost €12.",
            [("Filters cost 3", "Filters"), ("lids cost 12", "lids")],
        ),
        (
            "The Basic plan costs €5 a month and covers 2 machines.",
            [("The Basic plan costs 5 a month", "Basic plan"), ("covers 2 machines", "Basic plan")],
        ),
        ("The Calm was sold out. It weighs 2 kg.", [("The Calm was sold out", "Calm"), ("It weighs 2 kg", "Calm")]),
        (
            "Chat is answered within 10 minutes, e-mail within 48 hours.",
            [("Chat is answered within 10 minutes", "Chat"), ("e-mail within 48 hours", "e-mail")],
        ),
        (
            "Orders placed before noon leave the same day.",
            [("Orders placed before noon leave the same day", "Orders placed noon")],
        ),
    ],
)
def test_each_segment_knows_its_subject(text: str, expected: list[tuple[str, str]]) -> None:
    assert parts(text) == expected


@over(
    ("text", "carried"),
    [
        ("Parcels to Sweden arrive in 3 days and parcels to Denmark in 5 days.", "arrive"),
        ("It is sold in Norway but not in Denmark.", "sold"),
        ("Tours are held in English on Saturdays and in French on Thursdays.", "Tours held"),
        ("The Blue Room is on the first floor, the Garden Hall on the ground floor.", ""),
        ("Complaints go to the desk, and inquiries to the press office.", "go"),
        ("Chat is answered within 10 minutes, e-mail within 48 hours.", "answered"),
        ("Filters cost €3 and lids cost €12.", ""),
    ],
)
def test_what_a_segment_leaves_out_is_carried_and_what_is_parallel_is_not(text: str, carried: str) -> None:
    reading, segment = last(text)
    assert words(reading, segment.carried) == carried


@over(
    ("text", "conditions"),
    [
        ("Points expire after two years unless they are used.", ["unless they are used"]),
        ("Only the Campus plan includes an engineer.", ["Only the Campus plan"]),
        ("Orders over €50 ship free.", ["over 50 ship free"]),
        ("Items can be returned with a receipt.", ["with a receipt"]),
        ("Hotels get a discount on orders of 20 kettles or more.", ["on orders of 20 kettles or more"]),
        ("The ferry runs in summer only.", ["in summer only"]),
        ("Prints can be seen by appointment.", ["by appointment"]),
        ("Atlases are lent out against a deposit.", ["against a deposit"]),
        ("The piano may be used once it has been tuned.", ["once it has been tuned"]),
        ("Bikes may stay in the courtyard while it is open.", ["in the courtyard", "while it is open"]),
        ("Members are accepted all year, subject to approval.", ["subject to approval"]),
        ("In the courtyard dogs are welcome.", []),
        ("Pallets may weigh no more than 950 kg.", []),
        ("The office was closed when it rained.", []),
    ],
)
def test_the_conditions_of_a_rule_are_found(text: str, conditions: list[str]) -> None:
    reading, segment = last(text)
    assert [words(reading, range(*condition)) for condition in segment.conditions] == conditions


@over(
    ("text", "negations"),
    [
        ("We do not ship to Chad.", 1),
        ("We never sell data without consent.", 2),
        ("The boxes have no more than two colours.", 0),
        ("We take back kettles for nothing.", 0),
        ("It costs nothing.", 1),
        ("It is sold in Norway but not in Denmark.", 1),
        ("A plan renews unless it is not paid.", 0),
    ],
)
def test_what_denies_a_segment_is_counted(text: str, negations: int) -> None:
    assert len(last(text)[1].negations) == negations


@example("cats , only")
@example("a not")
@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from("a if and , ; or only 5 is not . under cats".split())).map(" ".join)
)
def test_the_segments_of_any_text_lie_in_order_and_in_its_words(text: str) -> None:
    reading = Reading(text)
    at = 0
    for segment in reading.segments:
        assert at <= segment.first < segment.last <= len(reading.tokens)
        assert all(0 <= token < segment.last for token in (*segment.subject, *segment.carried, *segment.negations))
        at = segment.last
