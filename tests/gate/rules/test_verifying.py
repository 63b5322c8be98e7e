"""Verdicts of the rule judge on a small policy written for these tests, and the grounds it gives."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentguard.errors import ConfigurationError
from agentguard.gate._types import Case, Chunk, Claim, ClaimVerdict, Passage
from agentguard.gate.rules import RuleJudge

from ...rows import over

POLICY = (
    "Items can be returned within 30 days of delivery for a full refund. Gift cards cannot be returned. Refunds are "
    "issued to the original payment method within 5 to 7 business days.",
    "Standard shipping is free for orders over $50. Express shipping costs $12.99 and takes two business days. We ship "
    "to the United States and Canada only.",
    "Support is available Monday to Friday, 9 am to 5 pm. Premium customers can call us at any time. The office was "
    "opened in March 2015 by Anna Lind. A battery weighs 1.2 kg.",
)


def passages(*texts: str) -> tuple[Passage, ...]:
    return tuple(
        Passage(Chunk(f"chunk{number}", "policy.md", "Policy", "", text, 0, len(text)), 1.0 / (number + 1))
        for number, text in enumerate(texts)
    )


def judged(claim: str, *texts: str) -> ClaimVerdict:
    return RuleJudge().verify([Case(Claim("p1.c1", "p1", claim), passages(*(texts or POLICY)))])[0]


@over(
    ("claim", "chunk"),
    [
        ("Items may be returned within 30 days.", "chunk0"),
        ("The return policy allows returns within 30 days of delivery.", "chunk0"),
        ("You can return items within thirty days.", "chunk0"),
        ("Gift cards are not returnable.", "chunk0"),
        ("Refunds take 5 to 7 business days.", "chunk0"),
        ("Customers get a full refund if they return items within 30 days.", "chunk0"),
        ("Shipping is free for orders over $50.", "chunk1"),
        ("Express shipping takes 2 business days.", "chunk1"),
        ("Premium customers can call at any time.", "chunk2"),
        ("The office opened in March 2015.", "chunk2"),
        ("A battery weighs 1,200 grams.", "chunk2"),
    ],
)
def test_what_a_passage_says_is_supported(claim: str, chunk: str) -> None:
    verdict = judged(claim)
    assert (verdict.label, verdict.chunk_id, verdict.judge) == ("supported", chunk, "rules")
    assert verdict.quote in POLICY[int(chunk[-1])]
    assert verdict.quote
    assert verdict.reasons


@over(
    ("claim", "kind", "said", "found"),
    [
        ("Items may be returned within 45 days.", "number", "45 days", "30 days"),
        ("Shipping is free for orders over $25.", "number", "$25", "$50"),
        ("A battery weighs 2 kg.", "number", "2 kg", "1.2 kg"),
        ("The office was opened in March 2016 by Anna Lind.", "date", "March 2016", "March 2015"),
        ("Items can be returned after 30 days.", "limit", "30 days", "30 days"),
        ("Orders under $50 ship free.", "limit", "$50", "$50"),
        ("Gift cards can be returned.", "negation", "", "cannot be returned"),
        ("Items cannot be returned.", "negation", "cannot be returned", "returned within 30 days"),
        ("The office was opened by Peter Lind.", "name", "Peter", "Anna"),
        ("A restocking fee of 15% applies.", "number", "15%", ""),
    ],
)
def test_a_contradiction_is_unsupported_and_names_both_sides(claim: str, kind: str, said: str, found: str) -> None:
    verdict = judged(claim)
    assert verdict.label == "unsupported"
    reason = next(reason for reason in verdict.reasons if reason.kind == kind)
    assert reason.said == said
    assert found in reason.found
    assert verdict.reasons[0].kind == kind
    if said and found:
        assert said in reason.detail or found in reason.detail


@over(
    "claim",
    [
        "The moon is made of cheese.",
        "We ship worldwide, including to Germany.",
        "Support is available on weekends.",
        "Refunds are issued as store credit.",
        "Shipping to Mexico is available.",
    ],
)
def test_what_no_passage_says_is_unsupported(claim: str) -> None:
    assert judged(claim).label == "unsupported"


def test_what_is_said_of_another_is_at_most_weakly_supported() -> None:
    verdict = judged("Standard customers can call at any time.")
    assert verdict.label == "weakly_supported"
    assert any(reason.said == "Standard" for reason in verdict.reasons)


RETENTION = """# Backups

Backups run every six hours. They are encrypted with AES-256. Deleted projects can be restored by an administrator.

| Plan | Price | Seats | Support |
|---|---|---|---|
| Team | $12 | 25 | E-mail |
| Enterprise | $49 | unlimited | Phone |
"""


@pytest.mark.parametrize(
    "claim",
    [
        "Team: Price $12",
        "The Team plan costs $12.",
        "Enterprise: Seats unlimited",
        "Backups are encrypted with AES-256.",
    ],
)
def test_headings_and_heads_of_tables_go_with_what_stands_below(claim: str) -> None:
    assert judged(claim, RETENTION).label == "supported"


def test_a_figure_of_another_row_is_no_support() -> None:
    verdict = judged("The Team plan costs $49.", RETENTION)
    assert verdict.label == "unsupported"
    assert (verdict.reasons[0].kind, verdict.reasons[0].said, verdict.reasons[0].found) == ("elsewhere", "$49", "$12")


def test_what_holds_for_some_is_no_support_for_all() -> None:
    verdict = judged("Any user can restore deleted projects.", RETENTION)
    assert verdict.label == "weakly_supported"
    assert any(reason.kind == "scope" for reason in verdict.reasons)


def test_the_headings_of_a_chunk_and_its_title_count_as_said() -> None:
    text = "They are made every six hours."
    chunk = Chunk("chunk0", "d.md", "Operations", "Operations > Backups", text, 0, len(text))
    case = Case(Claim("p1.c1", "p1", "Backups are made every 6 hours."), (Passage(chunk, 1.0),))
    assert RuleJudge().verify([case])[0].label == "supported"


def test_a_claim_without_passages_is_unsupported_for_that_reason() -> None:
    verdict = RuleJudge().verify([Case(Claim("p1.c1", "p1", "Returns are free."), ())])[0]
    assert (verdict.label, verdict.chunk_id, verdict.quote) == ("unsupported", None, "")
    assert "no passage" in verdict.reasons[0].detail


def test_opposites_exclude_each_other() -> None:
    verdict = judged("A password is optional for every account.", "A password is required for every account.")
    assert verdict.label == "unsupported"
    assert (verdict.reasons[0].kind, verdict.reasons[0].said, verdict.reasons[0].found) == (
        "opposite",
        "optional",
        "required",
    )


def test_a_paraphrase_by_synonyms_is_supported() -> None:
    assert judged("Clients can purchase the software.", "Customers can buy the software.").label == "supported"


def test_figures_are_compared_in_other_units_and_other_words() -> None:
    passage = "The tank holds 3.5 litres and the trial lasts two weeks. About 1, 056 people came."
    assert judged("The tank holds 3,500 ml.", passage).label == "supported"
    assert judged("The trial lasts 14 days.", passage).label == "supported"
    assert judged("The trial lasts 15 days.", passage).label == "unsupported"
    assert judged("1,056 people came.", passage).label == "supported"


@pytest.mark.parametrize(
    "said",
    [
        " ".join(f"kettle{letter}" for letter in map(chr, range(0x4E00, 0x4E00 + 148))),
        " and ".join(str(number) for number in range(200, 240)),
    ],
    ids=["words", "figures"],
)
def test_a_claim_that_is_too_long_to_be_compared_whole_is_never_supported(said: str) -> None:
    whole, longer = f"Lamps weigh {said}.", f"Lamps weigh {said} and 999."

    assert judged(whole, whole).label == "supported"
    assert judged(longer, longer).label == "weakly_supported"
    assert judged(longer, longer).reasons[0].kind == "length"


def test_the_best_passage_decides_wherever_it_stands() -> None:
    claim = "Shipping is free for orders over $50."
    for order in (POLICY, POLICY[::-1]):
        verdict = judged(claim, *order)
        assert verdict.label == "supported"
        assert verdict.chunk_id == f"chunk{order.index(POLICY[1])}"


def test_the_thresholds_part_the_labels() -> None:
    case = Case(Claim("p1.c1", "p1", "Items may be returned within 30 days."), passages(*POLICY))
    assert RuleJudge(supported_from=0.99).verify([case])[0].label == "weakly_supported"
    assert RuleJudge(supported_from=0.99, weak_from=0.98).verify([case])[0].label == "unsupported"
    with pytest.raises(ConfigurationError, match="weak_from"):
        RuleJudge(supported_from=0.2, weak_from=0.3)


def test_verdicts_do_not_depend_on_what_was_judged_before() -> None:
    claims = ["Items may be returned within 45 days.", "Gift cards can be returned.", "The moon is made of cheese."]
    cases = [Case(Claim(f"p1.c{number}", "p1", text), passages(*POLICY)) for number, text in enumerate(claims)]
    judge = RuleJudge()
    together = judge.verify(cases)
    assert [judge.verify([case])[0] for case in reversed(cases)] == together[::-1]
    assert [RuleJudge().verify([case])[0] for case in cases] == together


WORDS = st.sampled_from(
    ["returns", "Anna", "30", "days", "not", "within", "$5", "1,056", "3 March 2020", ".", "\n", "|", "cannot", "free",
     "1e400", "2020-01", "9" * 50, "\ud800", "at least", "or more", "0", "-", "%", "No", "-5", "12:30",
     "half past nine", "the 31st", "under-3s", "per kg", "whatever", "which is", "if the", "only", "from", "excepted",
     "rather than"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=30).map(" ".join))


@given(TEXTS, st.lists(TEXTS, max_size=3))
@settings(deadline=None)
def test_any_claim_and_passages_give_a_verdict_that_quotes_its_passage(claim: str, texts: list[str]) -> None:
    verdict = RuleJudge().verify([Case(Claim("p1.c1", "p1", claim), passages(*texts))])[0]
    assert verdict.label in {"supported", "weakly_supported", "unsupported"}
    assert verdict.reasons
    if verdict.chunk_id is None:
        assert verdict.label == "unsupported"
    else:
        text = texts[int(verdict.chunk_id[5:])]
        assert verdict.quote in text.encode("utf-8", "replace").decode()


@given(
    st.lists(st.sampled_from("refunds take five days orders ship free customers call".split()), min_size=3, max_size=8)
)
@settings(deadline=None)
def test_words_that_no_passage_says_never_help(words: list[str]) -> None:
    judge, text = RuleJudge(), "Refunds take five days. Orders ship free. Customers call."

    def support(said: list[str]) -> float:
        return judge.weigh(Case(Claim("c", "p", " ".join(said)), passages(text))).support

    assert support([*words, "zebra"]) <= support(words) + 1e-9
    assert support([*words, "77"]) <= support(words) + 1e-9


@over(
    "part",
    [
        "not ",
        "30 days ",
        "Anna ",
        "a",
        "1,",
        "1, ",
        "the 1st and ",
        "if a and ",
        "2020-01-01 ",
        "word. ",
        "\n",
        "|",
        "x" * 70 + " ",
    ],
)
def test_texts_made_to_be_slow_are_judged(part: str) -> None:
    text = part * (10_000 // len(part))
    assert judged(text, text, text).reasons


def test_a_denial_is_found_in_the_sentence_that_says_it() -> None:
    passage = (
        "Acme ships to all countries of the European Union. We do not ship to Chad or Mali; dealers are listed there."
    )

    assert "negation" not in {reason.kind for reason in judged("Acme does not ship to Chad or Mali.", passage).reasons}
    assert "negation" in {
        reason.kind for reason in judged("Acme does not ship to the European Union.", passage).reasons
    }


@over(("passage", "claim", "label", "kind", "detail"), [
        ("Parts are kept for 18 months.", "Parts are kept for 18 days.", "unsupported", "number", "18 months"),
        ("Plans renew every 12 months.", "Plans renew every month.", "unsupported", "number", "12 months"),
        ("The tank holds 4 litres.", "The tank holds 4,000 litres.", "unsupported", "number", "4 litres"),
        ("Orders above €300 are insured.", "Orders above 300 kroner are insured.", "unsupported", "number", "€300"),
        ("Revenue was €4 million.", "Revenue was €4 billion.", "unsupported", "number", "€4 million"),
        ("Plan A costs €5, plan B costs €9.", "Plan B costs €5.", "unsupported", "swapped", "B"),
        ("Friends pay €30, patrons €150.", "Patrons pay €30.", "unsupported", "swapped", "Friends"),
        ("Orders over €50 ship free.", "Orders ship free.", "weakly_supported", "condition", "over €50"),
        ("Orders ship free, but only above €50.", "Orders ship free.", "weakly_supported", "condition", "above €50"),
        ("Guests staying with a child get flowers.", "Guests get flowers.", "weakly_supported", "condition", "staying"),
        ("Patrons see the attic. Friends pay €30.", "Friends see the attic.", "weakly_supported", "another", "Patrons"),
        ("The city bought it from Ann.", "Ann bought it from the city.", "weakly_supported", "another", "city"),
        ("Boxes hold as many as six kettles.", "Boxes hold at least six kettles.", "unsupported", "limit", "upper"),
        ("Kettles are taken back for nothing.", "Kettles are not taken back.", "unsupported", "negation", "denies"),
        ("It is sold in Oslo but not in Bergen.", "It is sold in Bergen.", "unsupported", "negation", "denies"),
        ("Trailers are prohibited here.", "Trailers are permitted here.", "unsupported", "opposite", "prohibited"),
        ("At the till we take cards, but no cash.", "The till takes cash.", "unsupported", "negation", "denies"),
        ("No skates, and no scooters in the hall.", "Scooters may be used in the hall.", "unsupported", "negation", ""),
        ("Blades are sharpened, but axes never are.", "Axes are sharpened.", "unsupported", "negation", "denies"),
        ("Staff get 10% off all goods except tea.", "Staff get 10% off tea.", "unsupported", "negation", "denies"),
        ("Staff get 10% off goods except tea and jam.", "Staff get 10% off jam.", "unsupported", "negation", "denies"),
        ("Lanterns are ruled out as lamps.", "Lanterns are lamps.", "unsupported", "negation", "denies"),
        ("Pupils aged under 7 swim free.", "Pupils aged under 7 weeks swim free.", "unsupported", "number", "7"),
        ("Pupils swim free when a parent is there.", "Pupils swim free.", "weakly_supported", "condition", "parent"),
        ("Tours are in Dutch on Mondays.", "Tours are in Dutch.", "weakly_supported", "condition", "Mondays"),
        ("The bar opens on Mondays. The pool opens on Fridays.", "The bar opens on Fridays.", "unsupported", "swapped",
         "Mondays"),
        ("Doors open an hour before kick-off.", "Doors open an hour after kick-off.", "unsupported", "opposite", ""),
        ("Staff may park at the mill each year.", "All the staff who work there may park at the mill.",
         "weakly_supported", "scope", "all"),
        ("The bar opens at 17.30.", "The bar opens at 18:30.", "unsupported", "date", "17.30"),
        # What holds only under a condition
        ("Deposits are returned if the plot is tidy.", "Deposits are returned whatever the state of the plot.",
         "weakly_supported", "scope", "whatever"),
        ("Deposits are returned to tenants whose plot is tidy.", "Deposits are returned to tenants, tidy plot or not.",
         "weakly_supported", "scope", "or not"),
        ("The café takes cards and cash.", "The café takes cards only.", "weakly_supported", "scope", "only"),
        ("Skis are carried free from December to March.", "Skis are carried free.", "weakly_supported", "condition",
         "from December"),
        ("On the first Sunday of the month nobody pays.", "Nobody pays on Sundays.", "weakly_supported", "condition",
         "first Sunday"),
        ("Photographs may only be taken with the guide's consent.", "Photographs may be taken.", "weakly_supported",
         "condition", "consent"),
        ("Groups of ten or more must book ahead.", "Groups must book ahead.", "weakly_supported", "condition",
         "ten or more"),
        ("Groups pay half outside school holidays.", "Groups pay half.", "weakly_supported", "condition", "outside"),
        ("Bicycles are carried on the coast line and must be booked.",
         "Bicycles are carried on the coast line without booking.", "weakly_supported", "denial", "carried"),
        # Required, allowed, forbidden, left open
        ("Dogs may be kept outside.", "Dogs must be kept outside.", "weakly_supported", "modality", "may"),
        ("Helmets need not be worn here.", "Helmets must not be worn here.", "weakly_supported", "modality", "need"),
        # Denied
        ("Telephone applications are not accepted.", "It is also possible to apply by telephone.", "weakly_supported",
         "denial", "not accepted"),
        ("Growers who sell only their own produce do not need a licence.",
         "Growers who sell only their own produce need a licence.", "weakly_supported", "denial", "do not need"),
        ("A late application is never considered, whatever the reason.",
         "A late application is considered if there is a reason.", "unsupported", "negation", "never considered"),
        ("Dogs are not allowed, guide dogs excepted.", "Guide dogs are not allowed.", "unsupported", "negation",
         "guide dogs excepted"),
        ("Guests pay by card rather than by cheque.", "Guests pay by cheque.", "unsupported", "negation", "rather"),
        ("The hedges are left untrimmed.", "The hedges are left trimmed.", "unsupported", "opposite", "untrimmed"),
        # Of another
        ("The bus runs from the museum to the station.", "The bus runs from the station to the museum.", "unsupported",
         "opposite", "to"),
        ("Novae are reported to the bureau before they are announced to the press.",
         "Novae are reported to the bureau after the press was told.", "weakly_supported", "another", "before"),
        ("The lamp is lit at the end of the night.", "The lamp is lit in the middle of the night.", "weakly_supported",
         "another", "end"),
        ("In heavy rain the outdoor pool is closed, but the sauna stays open.", "The sauna is closed in heavy rain.",
         "weakly_supported", "another", "outdoor pool"),
        ("Ann Lee succeeded Bob Ray as librarian.", "Bob Ray succeeded Ann Lee as librarian.", "weakly_supported",
         "another", "Ann Lee"),
        ("1.2 A Saver ticket cannot be changed. 1.3 A Flex ticket may be rebooked up to 2 hours before departure.",
         "A Saver ticket may be rebooked up to 2 hours before departure.", "weakly_supported", "another", "Flex"),
        ("A refund takes 2 weeks. A visit can be moved up to 2 days before it.",
         "A visit can be moved up to 2 weeks before it.", "unsupported", "another", "2 days"),
        ("The van stops in Wick on Monday from 1 to 3, in Ayr on Tuesday from 2 to 4.",
         "The van stops in Ayr on Monday.", "unsupported", "swapped", ""),
        ("The bar opens on weekdays at 7:30, at weekends at 9:00.", "The bar opens on weekdays at 9:00.", "unsupported",
         "swapped", ""),
        ("The van leaves from Oban at 07:15 and from Tarbert at 16:40.", "The van leaves from Oban at 16:40.",
         "unsupported", "swapped", ""),
        # Figures that leave words out, or are in words
        ("A pitch costs €4 per running metre.", "A pitch costs €4 per running foot.", "unsupported", "number", "metre"),
        ("The hall costs 18 euros an hour and the studio 12.", "The studio costs 12 pounds an hour.", "unsupported",
         "number", "12"),
        ("Under-12s must bring an adult.", "Under-14s must bring an adult.", "unsupported", "number", "12"),
        ("Doors open at half past nine in the evening.", "Doors open at 22:30.", "unsupported", "date", "half past"),
    ])  # fmt: skip
def test_what_is_plainly_wrong_is_not_supported(passage: str, claim: str, label: str, kind: str, detail: str) -> None:
    verdict = judged(claim, passage)
    assert verdict.label == label
    reason = next(reason for reason in verdict.reasons if reason.kind == kind)
    assert detail in reason.detail


@over(
    ("passage", "claim"),
    [
        ("Plans renew every 12 months.", "Plans renew every year."),
        ("Plans renew every 12 months.", "Plans renew yearly."),
        ("The trial lasts 14 days.", "The trial lasts two weeks."),
        ("Boxes hold as many as six kettles.", "Boxes hold up to six kettles."),
        ("The pump starts in no more than two seconds.", "The pump starts in at most two seconds."),
        ("Data is kept in the European Union (EU). The European Union sets the rules.", "The EU sets the rules."),
        ("Revenue was €4 million.", "Revenue was 4 million euros."),
        ("The company was founded on 3 May 1987.", "The company was founded in 1987."),
        ("The shop in Oslo is small. It is closed on Sundays.", "The shop in Oslo is closed on Sundays."),
        ("Plan A costs €5, plan B costs €9.", "Plan B costs €9."),
        ("The city bought the mill.", "The mill was bought by the city."),
        ("Ines Varga is the director. She met Tom.", "The director is Ines Varga."),
        ("The bar opens at 17.30.", "The bar opens at 5:30 pm."),
        ("Pupils aged under 7 swim free.", "Pupils aged under 7 years swim free."),
    ],
)
def test_what_is_said_otherwise_is_supported(passage: str, claim: str) -> None:
    assert judged(claim, passage).label == "supported"


@over(("passage", "claim"), [
        ("Please request help at least 36 hours before departure.",
         "Request help no later than 36 hours before departure."),
        ("The office is closed on 25 December.", "The office is closed on Christmas Day."),
        ("The bar is shut on 24, 25 and 26 December.", "The bar is shut on 24 December."),
        ("Doors open at 21:30.", "Doors open at half past nine in the evening."),
        ("The weekly market has a fountain. Power costs 3 euros per day.",
         "Power at the weekly market costs 3 euros per day."),
        ("A bequest is accepted if the Librarian and the Director agree.",
         "A bequest is not accepted if the Librarian or the Director objects."),
        ("Photography without flash is allowed in the hall.",
         "You may take photographs in the hall as long as you use no flash."),
        ("Traders are turned away, except at the antiques fair.",
         "The antiques fair is the only one that traders are not turned away from."),
        ("The observer does not work the shutter. The operator works the shutter.",
         "The operator works the shutter rather than the observer."),
        ("The queue is open to everybody, member or not.", "The queue is open to everybody, member or not."),
    ])  # fmt: skip
def test_what_is_said_otherwise_is_not_contradicted(passage: str, claim: str) -> None:
    verdict = judged(claim, passage)
    assert verdict.label != "unsupported"
    assert {reason.kind for reason in verdict.reasons}.isdisjoint({"number", "date", "limit", "negation", "swapped"})


def test_a_rule_that_no_one_clause_says_is_weakly_supported() -> None:
    passage = "Tram 4 stops at the main entrance, bus 12 behind the library."
    assert judged("Tram 4 stops at the main entrance.", passage).label == "supported"
    assert judged("Tram 4 stops behind the library.", passage).label == "weakly_supported"


def test_what_is_told_in_words_of_its_own_is_not_taken_for_pieced_together() -> None:
    passage = "Halden Works was founded in Bergen in 1987. The firm makes kettles and has a staff of 140 people."
    assert judged("140 people are employed by Halden Works.", passage).label == "weakly_supported"


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        ("Sign-in is required for staff.", "Sign-in is not optional for staff."),
        ("Calls are recorded only with your consent.", "Calls are not recorded without your consent."),
        ("No customer pays for delivery.", "Delivery is free for customers."),
    ],
)
def test_two_denials_are_none(passage: str, claim: str) -> None:
    kinds = {reason.kind for reason in judged(claim, passage).reasons}
    assert kinds.isdisjoint({"negation", "opposite"})


def test_a_day_between_two_is_no_other_day() -> None:
    kinds = {
        reason.kind for reason in judged("The bar opens on Tuesday.", "The bar opens from Monday to Friday.").reasons
    }
    assert kinds.isdisjoint({"swapped", "opposite"})


def test_a_figure_of_something_else_is_not_said_to_be_missing() -> None:
    verdict = judged("A battery weighs 18 kg.", "A battery is kept for 18 months.")
    assert not any("no such figure" in reason.detail for reason in verdict.reasons)
