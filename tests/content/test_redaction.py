"""Placeholders: one value one name, nothing left of what was found, and the way back."""

from __future__ import annotations

import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content import _recognizers, pii, secrets
from agentguard.content._findings import Finding
from agentguard.content._redaction import Vault, redact_value, replace
from agentguard.errors import ConfigurationError, DataError

from ..rows import over


def personal(text):
    return pii.scan(text).findings


class TestTexts:
    def test_the_same_value_has_the_same_placeholder(self):
        redaction = pii.redact("ada@example.org, bob@example.org, ada@example.org, 10.0.0.1")
        assert redaction.text == "<EMAIL_1>, <EMAIL_2>, <EMAIL_1>, <IP_ADDRESS_1>"
        assert redaction.count == 4

    def test_a_vault_keeps_them_through_a_session(self):
        vault = Vault()
        assert pii.redact("to bob@example.org", vault=vault).text == "to <EMAIL_1>"
        assert pii.redact("ada@example.org to bob@example.org", vault=vault).text == "<EMAIL_2> to <EMAIL_1>"

    def test_and_puts_them_back(self):
        vault = Vault()
        text = "ada@example.org owes 10.0.0.1"
        assert vault.restore(pii.redact(text, vault=vault).text) == text
        assert vault.restore("<EMAIL_1> and <EMAIL_7>") == "ada@example.org and <EMAIL_7>"

    def test_a_placeholder_that_the_text_holds_already_is_not_given_again(self):
        vault = Vault()
        text = "<EMAIL_1> is ada@example.org"
        assert pii.redact(text, vault=vault).text == "<EMAIL_1> is <EMAIL_2>"
        assert vault.restore(pii.redact(text, vault=vault).text) == text

    @over(
        ("template", "held"),
        [
            ("<{kind}_{number}>", "<EMAIL_1> <EMAIL_2> <EMAIL_4>"),
            ("{kind}{number}", "EMAIL1 EMAIL2 EMAIL45"),  # no sign ends it: EMAIL4 stands there too
            ("[{number:03d}]", "[001] [002] [004]"),
            ("{number}", "1 2 4"),
            ("{{{kind}}}-{number}-", "{EMAIL}-1- {EMAIL}-2- {EMAIL}-4-"),
        ],
    )
    def test_nor_is_any_of_many_whatever_they_look_like(self, template, held):
        vault = Vault(template)
        text = f"{held} ada@example.org bob@example.org eve@example.org"
        made = pii.redact(text, vault=vault).text
        numbers = [template.format(kind="EMAIL", number=number) for number in (3, 5, 6)]
        assert made == " ".join([held, *numbers])
        assert vault.restore(made) == text

    def test_a_text_made_of_placeholders_takes_no_longer(self):
        text = "ada@example.org <EMAIL_" + "1" * 5_000_000 + "> " + "<EMAIL_1" * 100_000
        assert pii.redact(text).text.startswith("<EMAIL_1> <EMAIL_111")

    def test_of_many_places_all_are_replaced_and_some_are_listed(self):
        redaction = pii.redact("".join(f"user{number}@example.org " for number in range(10_001)))
        assert (redaction.count, len(redaction.findings)) == (10_001, 10_000)
        assert redaction.text.endswith(" <EMAIL_10001> ")

    def test_of_too_many_none_is(self, monkeypatch):
        monkeypatch.setattr(_recognizers, "MOST_CANDIDATES", 2_000)
        text = "a@b.co " * 2_001
        found = pii.scan(text)
        assert (len(found.findings), found.more) == (2_000, True)
        with pytest.raises(DataError, match="more than 200,000 findings"):
            pii.redact(text)

    def test_findings_of_a_scan_before_can_be_given(self):
        text = "password = tea4two, ada@example.org"
        findings = [*secrets.scan(text).findings, *personal(text)]
        assert pii.redact(text, findings=findings).text == "password = <PASSWORD_1>, <EMAIL_1>"

    def test_of_findings_that_overlap_nothing_is_left(self):
        findings = [Finding("short", "", 2, 5), Finding("long thing", "", 4, 9), Finding("inner", "", 6, 7)]
        redaction = replace("0123456789", findings)
        assert redaction.text == "01<LONG_THING_1>9"
        assert redaction.count == 1

    def test_findings_that_touch_stay_two(self):
        assert replace("abcd", [Finding("x", "", 0, 2), Finding("y", "", 2, 4)]).text == "<X_1><Y_1>"

    def test_places_outside_the_text_are_left_alone(self):
        assert replace("abc", [Finding("x", "", 1, 9), Finding("y", "", -1, 2), Finding("z", "", 2, 2)]).text == "abc"

    def test_a_template_of_ones_own(self):
        vault = Vault("[{kind} {number}]")
        assert pii.redact("ada@example.org", vault=vault).text == "[EMAIL 1]"

    def test_without_a_number_there_is_no_way_back(self):
        vault = Vault("[removed]")
        redaction = pii.redact("ada@example.org 10.0.0.1", vault=vault)
        assert redaction.text == "[removed] [removed]"
        assert vault.restore(redaction.text) == redaction.text
        assert len(vault) == 0

    @pytest.mark.parametrize("template", ["{name}", "{", "{0}"])
    def test_a_template_with_other_fields_is_refused(self, template):
        with pytest.raises(ConfigurationError, match="template"):
            Vault(template)

    def test_a_placeholder_may_begin_another(self):
        vault = Vault("E{number}")
        text = " ".join(f"u{number}@example.org" for number in range(12))
        redacted = pii.redact(text, vault=vault).text
        assert redacted.endswith("E11 E12")
        assert vault.restore(redacted) == text


class TestVaults:
    def test_sealed_and_unsealed(self):
        vault, key = Vault(), Fernet.generate_key()
        redacted = pii.redact("ada@example.org", vault=vault).text
        again = Vault.unseal(vault.seal(key), key)
        assert again.restore(redacted) == "ada@example.org"
        # It goes on counting where the first one stopped.
        assert pii.redact("bob@example.org ada@example.org", vault=again).text == "<EMAIL_2> <EMAIL_1>"

    def test_what_is_sealed_shows_nothing(self):
        vault, key = Vault(), Fernet.generate_key()
        vault.placeholder("email", "ada@example.org")
        assert b"ada" not in vault.seal(key)
        assert "ada" not in repr(vault)

    def test_another_key_or_a_changed_byte(self):
        vault, key = Vault(), Fernet.generate_key()
        sealed = vault.seal(key)
        with pytest.raises(DataError, match="another key"):
            Vault.unseal(sealed, Fernet.generate_key())
        with pytest.raises(DataError, match="changed"):
            Vault.unseal(sealed[:40] + bytes([sealed[40] ^ 1]) + sealed[41:], key)

    def test_a_key_that_is_none(self):
        with pytest.raises(ConfigurationError, match="32 bytes"):
            Vault().seal(b"short")

    def test_lone_surrogates_are_sealed_too(self):
        vault, key = Vault(), Fernet.generate_key()
        vault.placeholder("x", "\ud800")
        assert Vault.unseal(vault.seal(key), key).restore("<X_1>") == "\ud800"


class TestValues:
    def test_the_structure_stays(self):
        value = {"user": {"mail": "ada@example.org", "age": 36}, "rows": [("10.0.0.1", None, True, 1.5)], "n": []}
        redacted = redact_value(value, personal)
        assert redacted.value == {
            "user": {"mail": "<EMAIL_1>", "age": 36},
            "rows": [("<IP_ADDRESS_1>", None, True, 1.5)],
            "n": [],
        }
        assert (redacted.kinds, redacted.count) == (("email", "ip_address"), 2)
        assert value["user"]["mail"] == "ada@example.org"

    def test_a_fields_name_counts_as_a_word_nearby(self):
        value = {"ssn": "078051121", "order": "078051121", "password": "tea4two"}
        assert redact_value(value, personal).value == {**value, "ssn": "<US_SSN_1>"}
        assert redact_value(value, lambda text: secrets.scan(text).findings).value["password"] == "<PASSWORD_1>"

    def test_whole_numbers_that_are_found_become_placeholders(self):
        value = {"card": 4111111111111111, "total": 4111, "paid": True}
        assert redact_value(value, personal).value == {"card": "<CREDIT_CARD_1>", "total": 4111, "paid": True}

    def test_names_of_fields_are_looked_through(self):
        assert redact_value({"ada@example.org": 1, 7: "x"}, personal).value == {"<EMAIL_1>": 1, 7: "x"}

    def test_fields_that_get_the_same_name_are_kept_apart(self):
        value = {"ada@example.org": 1, "bob@example.org": 2}
        assert redact_value(value, personal, Vault("[x]")).value == {"[x]": 1, "[x]_": 2}

    def test_a_text_alone(self):
        assert redact_value("ada@example.org", personal).value == "<EMAIL_1>"

    def test_the_vault_puts_it_back(self):
        vault = Vault()
        redacted = redact_value(["ada@example.org", "ada@example.org"], personal, vault).value
        assert redacted == ["<EMAIL_1>", "<EMAIL_1>"]
        assert vault.restore(redacted[0]) == "ada@example.org"

    def test_what_lies_too_deep_or_within_itself_is_left_out(self):
        deep = "ada@example.org"
        for _ in range(500):
            deep = [deep]
        assert "ada" not in repr(redact_value(deep, personal).value)
        knot = {"mail": "ada@example.org"}
        knot["self"] = knot
        assert redact_value(knot, personal).value == {"mail": "<EMAIL_1>", "self": ""}

    def test_it_is_looked_through_once(self):
        texts = []
        redact_value({"a": ["x", "y"]}, lambda text: texts.append(text) or ())
        assert texts == ["a\na: x\na: y\n"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just("ada@example.org"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def shape(value):
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    return [shape(item) for item in value] if isinstance(value, list) else None


@given(JSON)
def test_any_value_keeps_its_structure(value):
    redacted = redact_value(value, personal)
    assert shape(redacted.value) == shape(value)
    assert "ada@example.org" not in repr(redacted.value)


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6))
def test_redacted_and_restored_any_text_is_itself(text, places):
    vault = Vault()
    redaction = replace(text, [Finding("x", "", start, end) for start, end in places], vault)
    assert vault.restore(redaction.text) == text
