"""How a result is read: its kind, its leaves, its objects, and what stands for it."""

import json
import math

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentguard.verification._canonical import digest
from agentguard.verification._document import read
from agentguard.verification._walk import child_path

KINDS = {"object", "array", "literal", "number", "boolean", "word", "keyed", "list", "prose", "broken", "empty"}
SCALARS = (str, int, float, bool, type(None))


def by_path(pairs):
    """The values by path, in the order met."""
    leaves = {}
    for path, value in pairs:
        leaves.setdefault(path, []).append(value)
    return leaves


def pairs_of(leaves):
    return [(path, value) for path, values in leaves.items() for value in values]


def seen(document):
    """All that a document says, in a form that compares (NaN too)."""
    names = ("kind", "text", "is_error", "leaves", "forms", "open_forms", "complete", "unclosed", "digest")
    return repr([getattr(document, name) for name in names])


def is_sound(document):
    return (
        document.kind in KINDS
        and all(type(path) is str and type(value) in SCALARS for path, value in pairs_of(document.leaves))
        and all(type(path) is str and len(set(keys)) == len(keys) for path, keys in document.forms)
        and set(document.open_forms) <= set(document.forms)
        and document.digest == digest(document.text)
        and document.size == len(document.text)
        and document.text.decode() is not None
    )


class TestAnyValue:
    @given(data=st.data())
    def test_is_read_and_always_alike(self, values, data):
        value = data.draw(values.objects)
        document = read(value)
        assert is_sound(document)
        assert seen(read(value)) == seen(document)

    def test_awkward_ones_too(self, each_awkward):
        for each, awkward in each_awkward:
            with each:
                for wrap in (lambda make: make(), lambda make: {"of": make()}, lambda make: [make(), make()]):
                    document = read(wrap(awkward))
                    assert is_sound(document)
                    assert seen(read(wrap(awkward))) == seen(document)

    @given(st.text(st.characters(), max_size=60))
    @example("{'a': '\\d'}")
    @example("(1,)" + "(" * 300)
    @example("[\n]")
    @example("\ufeff")
    @example("{\x00")
    def test_any_text_too(self, text):
        assert is_sound(read(text))

    @given(st.text("{}[]():,'\"\\ \n-.019aTe", max_size=40))
    def test_any_text_of_structural_characters_too(self, text):
        assert is_sound(read(text))

    @given(st.binary(max_size=60))
    def test_bytes_are_their_text(self, raw):
        text = raw.decode("utf-8", "replace")
        assert seen(read(raw)) == seen(read(bytearray(raw))) == seen(read(text))

    @given(data=st.data())
    def test_an_object_and_its_json_text_are_one_result(self, values, data):
        value = data.draw(values.json.filter(lambda value: isinstance(value, (dict, list))))
        document = read(value)
        for text in (
            json.dumps(value),
            json.dumps(value, ensure_ascii=False),
            json.dumps(value, indent=2),
            " \n" + orjson.dumps(value).decode() + "\t",
            "\ufeff" + json.dumps(value),
        ):
            assert seen(read(text)) == seen(document)

    @given(data=st.data())
    def test_equal_data_is_one_result(self, values, data):
        value = data.draw(values.json)
        assert seen(read(value)) == seen(read(json.loads(json.dumps(value))))

    def test_reading_leaves_the_value_as_it_was(self):
        value = {"rows": [(1, {2}), {"x": math.nan}], "t": (1,)}
        before = repr(value)
        read(value)
        assert repr(value) == before


@pytest.mark.parametrize(
    ("result", "kind", "leaves"),
    [
        ({"id": 7, "ok": True}, "object", [("id", 7), ("ok", True)]),
        ([{"id": 1}, {"id": 2}], "array", [("[].id", 1), ("[].id", 2)]),
        ({"a": {"b": [[1], [2, 3]]}}, "object", [("a.b[][]", 1), ("a.b[][]", 2), ("a.b[][]", 3)]),
        ({"a": []}, "object", []),
        ({"a": (1, (2,))}, "object", [("a[]", 1), ("a[][]", 2)]),
        ((1, 2), "array", [("[]", 1), ("[]", 2)]),
        ({"card_12": 1, "card_3": 2}, "object", [("card_#", 1), ("card_#", 2)]),
        ("{'a': None, 'b': (1, 2)}", "literal", [("a", None), ("b[]", 1), ("b[]", 2)]),
        ("('x', 1)", "literal", [("[]", "x"), ("[]", 1)]),
        ("{'path': 'C:\\dir'}", "literal", [("path", "C:\\dir")]),
        (" 42\n", "number", [("", 42)]),
        (-1.5, "number", [("", -1.5)]),
        ("true", "boolean", [("", True)]),
        (False, "boolean", [("", False)]),
        ("done", "word", [("", "done")]),
        ("It is 20 degrees.", "prose", [("", "It is 20 degrees.")]),
        ("id: 7\nname: Ann\n", "keyed", [("id", "7"), ("name", "Ann")]),
        ("- one\n- two\r\n- three", "list", [("[]", "one"), ("[]", "two"), ("[]", "three")]),
        ('"a JSON string"', "prose", [("", '"a JSON string"')]),
        ("{not json", "prose", [("", "{not json")]),
        ("[INFO] started at 10", "prose", [("", "[INFO] started at 10")]),
        (b'{"a": 1}', "object", [("a", 1)]),
        ('\ufeff{"a": 1}', "object", [("a", 1)]),
        ('\xa0{"a": 1}\xa0', "object", [("a", 1)]),
    ],
)
def test_kinds_and_leaves(result, kind, leaves):
    document = read(result)
    assert document.kind == kind
    found = {path: values for path, values in document.leaves.items() if values}
    assert json.dumps(found, sort_keys=True) == json.dumps(
        by_path(leaves), sort_keys=True
    )  # tells 1, 1.0 and true apart
    assert not document.unclosed


@pytest.mark.parametrize("result", [None, "", "  \n", "null", "None", "[]", "[ ]", [], {}, (), "{}", '""', b"", "()"])
def test_empty_results(result):
    document = read(result)
    assert (document.kind, document.leaves, document.is_error) == ("empty", {}, False)


@pytest.mark.parametrize(
    "result", [0, False, " 0 ", "none of it", "false", "[0]", [None], {"a": None}, "[[]]", "nil", "0"], ids=repr
)
def test_small_results_that_are_not_empty(result):
    assert read(result).kind != "empty"


def test_the_values_of_enums_uuids_and_tuples_are_what_json_makes_of_them(values):
    import uuid

    number = uuid.UUID(int=1)
    document = read({"id": number, "colour": values.Colour.RED, "pair": (1, {"deep": values.Colour.RED})})
    assert document.leaves == {"id": [str(number)], "colour": ["red"], "pair[]": [1], "pair[].deep": ["red"]}
    assert read(values.Colour.RED).leaves == {"": ["red"]}
    assert read(values.Colour.RED).kind == "word"
    assert seen(read(number)) == seen(read(str(number)))


def test_numbers_that_are_none_are_the_same_from_text_as_from_objects():
    assert json.dumps({"a": math.nan}) == '{"a": NaN}'  # what Python's own writer makes
    from_object, from_text = read({"a": math.nan, "b": math.inf}), read('{"a": NaN, "b": Infinity}')
    assert seen(from_object) == seen(from_text)
    assert from_text.kind == "object"
    assert from_text.text == b'{"a":null,"b":null}'


def test_an_escaped_lone_surrogate_does_not_make_json_broken():
    assert json.dumps({"a": "cut \ud83d"}) == '{"a": "cut \\ud83d"}'
    assert seen(read('{"a": "cut \\ud83d"}')) == seen(read({"a": "cut \ud83d"}))
    assert read('{"a": "cut \\ud83d"}').kind == "object"


def test_text_with_lone_surrogates_can_be_handed_on():
    document = read("Temperature: cut \ud83d")
    assert document.value.encode() == document.text
    assert all(value.encode() for _, value in pairs_of(document.leaves))


@pytest.mark.parametrize("inner", ['{"a": 1}', "a: 1\nb: two\nc: 3", "- one\n- two", "It rains here.", "Error: gone"])
@pytest.mark.parametrize("marks", [("<<", ">>"), ("```\n", "\n```"), ("```json\n", "\n```"), ("<< ", " >>\n")])
def test_marks_around_a_result_are_no_part_of_it(inner, marks):
    plain, marked = read(inner), read(inner.join(marks))
    assert (marked.kind, marked.leaves, marked.is_error) == (plain.kind, plain.leaves, plain.is_error)


@pytest.mark.parametrize("text", ["<<>>", "```\n```", "```json\n\n```", "<<\n>>"])
def test_marks_around_nothing_are_an_empty_result(text):
    assert read(text).kind == "empty"


@pytest.mark.parametrize("text", ["<<a: 1\nb: 2", "```json\n{}", "<<>", "<a>b</a>", "`x`", "<<" * 9_999 + ">>" * 9_999])
def test_other_marks_are_part_of_the_text(text):
    assert read(text).text.decode() in (text, text[2:-2])


class TestBrokenJson:
    WHOLE = json.dumps({"user": {"name": 'Ann "A" Lee', "tags": ["x", "y]"]}, "n": [1, 2.5, None]})

    def test_every_beginning_is_broken_and_open(self, subtests):
        for length in range(1, len(self.WHOLE)):
            with subtests.test(length):
                document = read(self.WHOLE[:length])
                assert (document.kind, document.unclosed, document.leaves) == ("broken", True, {})
                assert document.text == self.WHOLE[:length].encode()

    def test_every_beginning_of_a_python_literal_too(self):
        text = str({"user": {"name": "Ann", "tags": ["x", 'it"s']}, "n": (1,)})
        assert [length for length in range(3, len(text)) if read(text[:length]).kind != "broken"] == []

    @pytest.mark.parametrize("text", ['{"a": 1} trailing', '{"a": 1,,}', "[1, 2] and more"])
    def test_what_is_wrong_but_closed_is_not_open(self, text):
        document = read(text)
        assert (document.kind, document.unclosed) == ("broken", False)

    def test_a_long_beginning_is_broken_and_open(self):
        text = '{"rows": [' + '{"id": 1}, ' * 500_000
        assert len(text) > 5_000_000
        document = read(text)
        assert (document.kind, document.unclosed, document.size) == ("broken", True, len(text))


class TestUnclosedProse:
    @pytest.mark.parametrize("text", ['He said "yes', "See (page 3", "Values [1, 2 and more", 'a "b" and "c'])
    def test_open(self, text):
        assert read(text).unclosed

    @pytest.mark.parametrize("text", ['He said "yes"', "See (page 3).", "1) first, 2) second", "It's fine"])
    def test_closed(self, text):
        assert not read(text).unclosed

    def test_nothing_is_said_of_an_end_that_was_not_looked_at(self):
        document = read("word " * 300_000 + '"')
        assert not document.unclosed
        assert not document.complete


class TestBounds:
    def test_long_lists_are_sampled_at_both_ends(self):
        document = read({"rows": [{"id": n} for n in range(1_000)]})
        ids = [value for _, value in pairs_of(document.leaves)]
        assert ids == sorted(ids)
        assert (ids[0], ids[-1]) == (0, 999)
        assert len(ids) < 100
        assert not document.complete

    def test_short_results_are_complete(self):
        document = read({"rows": [{"id": n} for n in range(10)]})
        assert document.complete
        assert [value for _, value in pairs_of(document.leaves)] == list(range(10))

    def test_a_wide_result_has_a_bounded_walk(self):
        wide = {
            f"{chr(97 + a)}{chr(97 + b)}": {f"{chr(97 + c)}": {} for c in range(26)}
            for a in range(26)
            for b in range(26)
        }
        document = read({"top": wide, "again": {"x" * n: wide for n in range(1, 100)}})
        assert len(document.leaves) + len(document.forms) < 5_000
        assert not document.complete

    @pytest.mark.parametrize("of", ["list", "dict", "both"])
    def test_a_deep_result_has_a_bounded_walk(self, values, of):
        document = read(values.deep(10_000, of=of))
        assert not document.complete
        assert len(document.forms) < 100

    def test_a_string_of_5_mb_is_kept_whole(self):
        text = "é" * 2_500_000
        for result in (text, {"blob": text}, json.dumps({"blob": text})):
            assert read(result).size >= 5_000_000
        assert seen(read({"blob": text})) == seen(read(json.dumps({"blob": text})))

    def test_json_text_beyond_1_mib_is_read_as_json(self):
        rows = [{"id": n, "name": "x" * 20} for n in range(60_000)]
        assert read(json.dumps(rows)).kind == "array"
        assert seen(read(json.dumps(rows))) == seen(read(rows))

    def test_long_keys_are_cut_in_paths(self):
        ((path, value),) = pairs_of(read({"k" * 1_000_000: 1}).leaves)
        assert len(path) < 1_000
        assert value == 1

    def test_a_list_of_lines_cut_short_is_not_complete(self):
        assert not read("\n".join(f"- line {n}" for n in range(1_000))).complete
        assert read("- a\n- b").complete


@pytest.mark.parametrize(
    ("parent", "key", "path"),
    [
        ("", "id", "id"),
        ("rows[]", "id", "rows[].id"),
        ("a", "k12x3", "a.k#x#"),
        ("", "2024-05-20", "#-#-#"),
        ("", "é1", "é#"),
    ],
)
def test_paths_name_places_not_positions(parent, key, path):
    assert child_path(parent, key) == path


def test_objects_list_their_keys_in_order_each_name_once():
    document = read({"b": 1, "a": {"x1": 0, "x2": 0, "y": 0}, "rows": [{"id": 1}, {"id": 2, "n": 3}]})
    assert list(document.forms) == [
        ("", ("b", "a", "rows")),
        ("a", ("x#", "y")),
        ("rows[]", ("id",)),
        ("rows[]", ("id", "n")),
    ]


@pytest.mark.parametrize(
    ("result", "structured"),
    [
        ({"a": 1}, True),
        ("[1]", True),
        ("{'a': 1}", True),
        (set(), True),
        ("a: 1\nb: 2", False),
        ("x", False),
        (3, False),
    ],
)
def test_structured_results_are_objects_and_arrays_however_they_are_written(result, structured):
    assert read(result).is_structured is structured


ERROR_REPORTS = [
    {"error": "not found"},
    {"error": {"code": 404}},
    {"errors": ["no such user"]},
    {"status": 500, "Error": "Internal"},
    {"exception": "KeyError: 'x'"},
    '{"error": "rate limited", "retry_after": 3}',
    "{'error': 'bad request'}",
    "Error: user not found",
    "Error code 403. You can try again later",
    "error: something failed",
    "ValueError: Channel does not exist",
    "requests.exceptions.ConnectionError: refused",
    "Traceback (most recent call last):\n  File ...",
    "Failed to fetch the page",
    "Invalid API key",
    "Unauthorized",
    "Forbidden",
    "Forbidden: you may not read this",
    "Not found",
    "404 Not Found",
    "403 Forbidden",
    "500 Internal Server Error",
    "HTTP 502 Bad Gateway",
    "HTTP/1.1 429 Too Many Requests",
    "No such file or directory",
    "bash: foo: command not found",
    "Cannot divide by zero",
    "can't open file",
    "Unable to connect",
    "Timed out after 30 s",
    "Timeout while waiting for the host",
    "The user does not exist.",
    "File with ID '13' not found.",
    "Tool input parse error...",
    "Error handling the request",
    "status: failed\nerror: no such table",
]
ANSWERS = [
    {"error": None},
    {"error": ""},
    {"error": False, "data": [1]},
    {"errors": []},
    {"errors": {}, "id": 3},
    {"error_rate": 0.2},
    {"message": "Error handling in Python"},
    {"a": 1, "b": 2, "c": 3, "error": "an optional field of a full answer"},
    [{"error": "one row of many"}],
    '{"error": null, "result": 5}',
    "error: null\nresult: 5\n",
    "errors: []\nresult: 5\n",
    "result: 5\nerror: null\n",
    "0 errors found",
    "No errors were found in 12 files.",
    "Error handling in Python is done with try and except.",
    "Error bars show one standard deviation.",
    "Error correction and detection in memory",
    "Exception handling: a guide",
    "Failure rates of hard disks, 2023",
    "Forbidden City is a palace complex in Beijing.",
    "Time Out is an album by the Dave Brubeck Quartet.",
    "Timeouts and retries explained",
    "An erroneous reading was corrected.",
    "The species was not found again until 1938.",
    "Invalidity and inference",
    "Trial and error is a method of problem solving.",
    "Terror in the Andes",
    "The meeting is at 10; 404 people registered.",
    "500 services are monitored",
    "ok",
    "",
    42,
    None,
]


@pytest.mark.parametrize("result", ERROR_REPORTS, ids=str)
def test_reports_of_a_failure(result):
    assert read(result).is_error


@pytest.mark.parametrize("result", ANSWERS, ids=str)
def test_answers_that_only_speak_of_errors(result):
    assert not read(result).is_error


def test_a_long_text_is_an_article_not_an_error():
    assert not read("Error: " + "this chapter goes on and on. " * 100).is_error


class TestJsonLines:
    def test_each_line_is_an_element(self):
        document = read('{"a": 1}\n\n{"a": 2}\n')
        assert (document.kind, document.leaves, document.unclosed) == ("lines", {"[].a": [1, 2]}, False)

    def test_a_cut_off_last_line_is_open_and_told_from_the_whole(self):
        cut, whole = read('{"a": 1}\n{"a": 2, "b'), read('{"a": 1}\n{"a": 2, "b": 3}')
        assert (cut.kind, cut.leaves, cut.unclosed) == ("lines", {"[].a": [1]}, True)
        assert cut.digest not in (whole.digest, read('{"a": 1}').digest)

    @pytest.mark.parametrize("text", ['{"a": 1}\n[1]', '{"a": 1,\n "b": [', '{"a": 1}\noops\n{"a": 2}'])
    def test_other_text_of_several_lines_is_not(self, text):
        assert read(text).kind != "lines"


def test_a_key_with_code_of_its_own_is_remembered_nowhere():
    """Else one result of such a kind would have its code run in the reading of all that have an equal key."""
    asked = []

    class Key(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            asked.append(other)
            return str.__eq__(self, other)

    assert read({Key("a key of this test alone"): 1}).leaves == {"a key of this test alone": [1]}
    del asked[:]
    assert read({"a key of this test alone": 2}).leaves == {"a key of this test alone": [2]}
    assert asked == []
