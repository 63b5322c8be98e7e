"""What an answer says was done, and what in it is no claim."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content.actions._claims import MOST_CLAIMS, claims

from ...rows import over


def said(answer: str) -> list[str]:
    """The words of the claims of an answer."""
    return [answer[claim.start : claim.end] for claim in claims(answer)]


@over(
    ("answer", "expected"),
    [
        # the writer's own deeds, one after the other
        (
            "I read the file, fixed the bug and ran the tests.",
            ["I read the file", "fixed the bug", "ran the tests"],
        ),
        ("I've gone ahead and cancelled your order.", ["I've gone ahead and cancelled your order"]),
        ("I was able to refund the €40.", ["I was able to refund the €40"]),
        ("- Fixed the parser", ["Fixed the parser"]),
        ("After updating the changelog, I tagged the release.", ["updating the changelog", "I tagged the release"]),
        # what was done, without saying by whom
        ("The migration was applied.", ["The migration was applied"]),
        ("Your room has been booked at the Aurora.", ["Your room has been booked at the Aurora"]),
        ("Email sent to Dana.", ["Email sent to Dana"]),
        ("Refund of €40 issued", ["Refund of €40 issued"]),
        ("Dana got a message about it.", ["Dana got a message about it"]),
        ("The note is now in your notebook.", ["The note is now in your notebook"]),
        ("You're booked on the 08:05, and she's been enrolled.", ["You're booked on the 08:05", "she's been enrolled"]),
        ("The new one, BX-9, was made for Friday.", ["The new one, BX-9, was made for Friday"]),
        ("Amir, Bea and Dov are now enrolled.", ["Amir, Bea and Dov are now enrolled"]),
        ("The rows from before 2020 were purged.", ["The rows from before 2020 were purged"]),
        ("The guard having been alerted, the door may be opened.", ["The guard having been alerted"]),
        ("I let Dana know, and wrote a note that we won't pursue it.", ["I let Dana know", "wrote a note"]),
        (
            "It exists and was applied on staging without errors.",
            ["It exists and was applied on staging without errors"],
        ),
        ("The lot number now reads L-908.", ["The lot number now reads L-908"]),
        ("Dinner is in your calendar.", ["Dinner is in your calendar"]),
        ("I blocked 14:30\u201315:00 for you.", ["I blocked 14:30\u201315:00 for you"]),
        ("13:04 restarted the pod", ["restarted the pod"]),
        ("Report: saved as report.md", ["saved as report.md"]),
        ("A. Reyes was refunded. I took plan B. The rest is yours.", ["A. Reyes was refunded", "I took plan B"]),
        ("She has been told that the hall is free.", ["She has been told"]),
        ("The tenants were notified by SMS.", ["The tenants were notified by SMS"]),
        ("The curve was refitted.", ["The curve was refitted"]),
        ("The tickets now live on the archive board.", ["The tickets now live on the archive board"]),
        ("`a.sh` was written, and moved once", ["`a.sh` was written", "moved"]),
        ("Hold placed on r500.", ["Hold placed on r500"]),
        ("- Adler, €2,300.00, scheduled", ["Adler, €2,300.00, scheduled"]),
        ("Office → set to 20", ["set to 20"]),
        ("Renamed `a` → `b`.", ["Renamed `a` → `b`"]),
        ("The second attempt went through.", ["The second attempt went through"]),
        ("Hall, 3 May, 9:00, 12 seats, booked", ["Hall, 3 May, 9:00, 12 seats, booked"]),
        ("CR-3 lodged, CR-4 lodged.", ["CR-3 lodged", "CR-4 lodged"]),
        ("Dana was paged, and so was Raj.", ["Dana was paged", "so was Raj"]),
        ("Only then did I mail the client.", ["I mail the client"]),
        ("I had Lena's card blocked.", ["I had Lena's card blocked"]),
        ("It was written and has gone out to Ada.", ["It was written", "gone out to Ada"]),
        ("All five made it onto the list.", ["All five made it onto the list"]),
        ("The table is yours, and Ito is down for Monday.", ["The table is yours", "Ito is down for Monday"]),
        ("Her record carries the new number.", ["Her record carries the new number"]),
        ("Dana has had a text about it.", ["Dana has had a text about it"]),
        ("A snapshot was taken first.", ["A snapshot was taken"]),
        ("Only the two pages were archived.", ["the two pages were archived"]),
        ("After redacting the names, I filed it.", ["redacting the names", "I filed it"]),
        ("The lights were switched off.", ["The lights were switched off"]),
        # how it came out
        ("The export ran through without errors.", ["The export ran through without errors"]),
        ("The image built without a single warning.", ["The image built without a single warning"]),
        ("Checks are all green.", ["Checks are all green"]),
        ("I restarted the build, and it passed.", ["I restarted the build", "it passed"]),
        ("The test suite shows no regressions.", ["The test suite shows no regressions"]),
        ("Lint: 0 issues reported by the linter.", ["0 issues reported by the linter"]),
        ("The second attempt passed.", ["The second attempt passed"]),
        ("All 48 tests pass.", ["All 48 tests pass"]),
        ("The deployment succeeded.", ["The deployment succeeded"]),
        ("Deployment: done ✅", ["Deployment: done"]),
        ("| Deploy | ✅ |", ["Deploy"]),
        ("- [x] Run the tests", ["Run the tests"]),
    ],
)
def test_claims_are_found_however_they_are_said(answer: str, expected: list[str]) -> None:
    assert said(answer) == expected


@over(
    "answer",
    [
        "I'll push the branch once the tests have passed.",  # a plan
        "I can send the mail if you like.",  # an offer
        "Would you like me to cancel the order?",
        "Should I have sent it?",
        "If it had failed, I would have rolled back.",
        "Had you asked me, I would have pushed.",
        "When you've logged in and the ticket has been purchased, I can file it.",
        "After the copy has been submitted, let them know.",
        "I couldn't push the tag.",
        "No email was sent.",
        "I haven't deleted anything.",
        "Maria sent the invoice yesterday.",
        "Your colleague deployed it on Monday.",
        "The invoice was sent by Maria.",
        'The log says: "deployed successfully".',
        "> I pushed the branch.",
        "```\ndeleted: 1 configmap\n```",
        "Run `make test`, then push the branch.",
        "Refresh the page and check that the status was updated.",
        "- [ ] Push the tag",
        "1. Merge `fix` into `main`.\n2. Post in #ops that it was deployed.",
        "I'll merge #512 the moment it turns green.",
        "Only when she has agreed, and the mail has been sent, does it follow.",
        "Had I pushed it, the build would have failed.",
        'The hotel answered: "We refunded it."',
        "Labels are printed every night.",
        "The mail is still queued.",
        "Because the account was closed, nothing happens.",
        "The store was locked.",
        "Allergies were taken by the ward.",
        "Hello! How can I help you today?",
        "The lockfile was generated by it.",
        "The flag is locked by the change freeze.",
        "The terminals were moved to the hall in 2019.",
        "I've called nobody.",
        "I compared them in my head.",
        "Then run the sync job.",
        "The Friday run:",
        "Invoices raised from today follow them.",
        "With the schema dropped, we could retire its role.",
        "An upgrade may interrupt running builds.",
        "The house is at your service.",
        "After it's been merged, the ticket can follow.",
        "It is closed once the bill has been paid, the dates have been met and the papers have been archived.",
        "Logs are shipped to Loki.",  # things of a kind
        "Each night the logs are rotated.",
        "It gets paid with the next run.",
        "Closed tickets can be reopened.",
        "Raised in May, the budget is low.",
        "You wanted to have it sent, and I offered to cancel it.",
        "To have the order cancelled, call them.",
        "In case the deposit was paid, call them.",
        "Maybe the order was cancelled.",  # a guess
        "It seems the order was cancelled.",
        "There is no sign that the mail was sent.",
        "The page says the order was cancelled.",  # what others say
        "Support told her that it was sent.",
        "She confirmed that the order was cancelled.",
        "As you said, the order was cancelled.",
        "She deployed it, and it finished without errors.",  # what others did
        "Ada Byron dropped the column.",
        "Next steps: branch merged, ticket closed.",
        "Still open: mail sent to Lena.",
        "Here is a draft: Dear Lena, your order has been cancelled.",
        "The rest is yours.",
        "The files are untouched.",
    ],
)
def test_what_is_no_claim_is_left_out(answer: str) -> None:
    assert said(answer) == []


def test_a_claim_keeps_its_own_words_where_others_follow() -> None:
    first, second = claims("I emailed the invoice to Bob, and the order was cancelled.")
    assert [token.text for token in first.objects] == ["the", "invoice", "to", "Bob"]
    assert [token.text for token in second.objects][:2] == ["the", "order"]


@over(
    ("answer", "ends"),
    [
        ("The run was started and one line is open.", "The run was started"),
        ("The supplier was e-mailed, and should answer soon.", "The supplier was e-mailed"),
        ("After reading the logs, consider it over.", "reading the logs"),
        ("The page was sent out and Ada was told.", "The page was sent out"),
        ("The dryer was started, and the guest room is being heated.", "The dryer was started"),
        ("I archived it, as you asked.", "I archived it"),
        ("I scrapped the room, and it costs nothing.", "I scrapped the room"),
        ("The mail was sent, and her record shows the date.", "The mail was sent"),
        ("The price was lowered, the listing should move.", "The price was lowered"),
    ],
)
def test_a_claim_ends_where_another_clause_begins(answer: str, ends: str) -> None:
    assert said(answer)[0] == ends


def test_a_claim_is_about_what_stands_before_its_colon() -> None:
    (claim,) = claims("7D: reminder sent")
    assert [token.text for token in claim.objects] == ["7D", "reminder"]
    (claim,) = claims("I pencilled you in on that flight.")
    assert claim.objects[-1].text == "flight"


def test_all_is_what_the_claim_before_was_about() -> None:
    _, second = claims("I ran the tests: all passed.")
    assert [token.text for token in second.objects] == ["the", "tests", "all"]
    assert "test" in second.meaning.acts


def test_done_once_more_or_otherwise_it_is_the_same_act() -> None:
    (rebooked,), (posted,) = claims("The visit is rebooked."), claims("I cross-posted it.")
    assert "book" in rebooked.meaning.acts
    assert "post" in posted.meaning.acts


def test_it_is_what_the_claim_before_was_about() -> None:
    _, second = claims("I wrote the memo. It was sent to Ada.")
    assert [token.text for token in second.objects] == ["the", "memo", "It", "was", "to", "Ada"]
    (alone,) = claims("It was sent to Ada.")
    assert [token.text for token in alone.objects] == ["It", "was", "to", "Ada"]


def test_a_claim_in_a_table_is_about_its_row() -> None:
    (claim,) = claims("| Revenue sheet | row for Merlin updated |")
    assert {"Revenue", "sheet", "row"} <= {token.text for token in claim.objects}


def test_a_point_without_words_follows_an_order() -> None:
    assert said("- Run `make`, then wait.\n- \u2705\n- Pushed the tag") == ["Pushed the tag"]


def test_a_sentence_without_an_end_is_read_in_pieces() -> None:
    assert said(f"{'word ' * 500}\nI pushed the tag {'word ' * 500}")[0].startswith("I pushed the tag")


def test_claims_of_a_long_answer_are_bounded() -> None:
    assert len(said("I pushed the branch. " * 2_000)) == MOST_CLAIMS


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from("I pushed was the if not , . ( ) `a` \" ' ✅ | - by".split())).map(" ".join)
)
def test_any_answer_is_read(answer: str) -> None:
    for claim in claims(answer):
        assert 0 <= claim.start < claim.end <= len(answer)


def test_the_head_of_a_table_names_its_columns() -> None:
    table = "| Note | Done |\n|---|:--:|\n| n-7 | archived |\n| Refund | Done |"
    assert said(table) == ["archived", "Done"]


def test_what_went_to_somebody_was_sent_whatever_it_is() -> None:
    (note,) = claims("A note about it went to Ada.")
    assert {"save", "send"} <= note.meaning.acts


def test_what_was_taken_away_was_removed() -> None:
    (page,) = claims("The maintenance page has been taken away.")
    assert page.meaning.acts == {"delete"}


def test_who_is_glad_of_it_claims_nothing() -> None:
    assert said("You're welcome, glad it got sorted!") == []
    assert said("I'm glad: the card was refunded.") == ["the card was refunded"]


def test_everything_is_in_a_state() -> None:
    assert [claim.form for claim in claims("Everything's prepared for the night.")] == ["state"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("I can confirm that the card was refunded.", ["the card was refunded"]),
        ("I'm pleased to say that I refunded the card.", ["I refunded the card"]),
        ("I'd be happy to confirm that the card was refunded.", []),
        ("The bank can confirm that the card was refunded.", []),
    ],
)
def test_what_the_writer_confirms_it_claims_itself(answer: str, expected: list[str]) -> None:
    assert said(answer) == expected


@over(
    ("answer", "expected"),
    [
        ("Before the restart I took a backup.", ["I took a backup"]),
        ("Before touching the index I copied the shards.", ["I copied the shards"]),
        ("To keep it simple I merged both files.", ["I merged both files"]),
        ("Before it can be merged I need a review.", []),
        ("I re-sent the invoice to be sure they were told.", ["I re-sent the invoice"]),
        ("Lena, who runs the stall, has been emailed.", ["Lena, who runs the stall, has been emailed"]),
        ("The alarm for six is set in case the phone dies.", ["The alarm for six is set"]),
        ("Ms. Roux and Sra. Vega were emailed.", ["Ms. Roux and Sra. Vega were emailed"]),
        ("The tenants' letter was mailed to Bo.", ["The tenants' letter was mailed to Bo"]),
        ("I texted you the code and archived the thread.", ["I texted you the code", "archived the thread"]),
        ("Invoice sent!", ["Invoice sent"]),
        ("The rooms were all booked.", ["The rooms were all booked"]),
        ("Two signs were taken down.", ["Two signs were taken down"]),
        ("The search turned up four leads.", ["The search turned up four leads"]),
        ("Oskar Lind has received it.", ["Oskar Lind has received it"]),
    ],
)
def test_claims_are_found_beside_what_stands_around_them(answer: str, expected: list[str]) -> None:
    assert said(answer) == expected


@over(
    "answer",
    [
        "Requests pass through the proxy.",
        "The value went through a filter.",
        "The queue dropped to four.",
        "The vendor moved to another host.",
        "The parcel was still being packed.",
        "The environment was torn down automatically.",
        "Ines has requested changes.",
        "It is run 4021.",
        "The rest is yours to decide.",
        "In a nutshell: the cache was flushed and two credits were issued.",
        "Here is what the memo says:\n\n- Access was revoked.\n- The keys were rotated.",
    ],
)
def test_what_happens_by_itself_or_is_only_reported_is_no_claim(answer: str) -> None:
    assert said(answer) == []


def test_what_was_read_is_told_again_until_the_writer_speaks() -> None:
    answer = "I read the memo. In short: the keys were rotated. Access was revoked. I emailed Bo."
    assert said(answer) == ["I read the memo", "I emailed Bo"]
    assert said("I rotated the keys. In short: the keys were rotated.")[1:] == ["the keys were rotated"]


@over(
    ("answer", "ends"),
    [
        ("I published the page, and the mirror already shows it.", "page"),
        ("I ran the import in May, and the upload took 40 seconds.", "May"),
        ("I compared both lists and the totals agree to the cent.", "lists"),
        ("I checked two shops and neither beat it.", "shops"),
        ("I looked at the check: types are fine.", "check"),
        ("I updated the config and the two files changed in that commit.", "commit"),
        ("I added the header and the test runs.", "runs"),
    ],
)
def test_a_claim_ends_before_what_another_thing_does(answer: str, ends: str) -> None:
    assert said(answer)[0].split()[-1] == ends


def test_a_subject_begins_behind_a_clause_of_another() -> None:
    assert said("Kit had approved it and the page was published.") == ["the page was published"]


def test_what_a_thing_holds_is_what_was_done_to_it() -> None:
    made, holds = claims("The order was placed. It contains two lamps.")
    assert holds.meaning == made.meaning
    assert {"order", "lamps"} <= {token.text for token in holds.objects}


def test_what_is_off_a_list_was_taken_away() -> None:
    (club,) = claims("The book club is off the calendar.")
    assert club.meaning.acts == {"delete", "cancel"}


def test_a_claim_without_a_verb_may_have_a_long_title() -> None:
    assert said("Backfill of the clicks for 1–7 March: done") == ["Backfill of the clicks for 1–7 March: done"]


def test_what_is_left_as_it_was_is_no_deed() -> None:
    left = [
        claim for answer in ("I left the config as it was.", "I left the others unread.") for claim in claims(answer)
    ]
    assert {claim.meaning.kind for claim in left} <= {"mental"}
