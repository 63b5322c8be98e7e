"""The native core says what the Python says, or leaves the case to it."""

from __future__ import annotations

import gc
import importlib.util
import json
import math
import os
import random
import shlex
import shutil
import subprocess
import sys
import sysconfig
from array import array
from bisect import bisect_left, insort
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentguard import _native
from agentguard.testing._corpus import OBJECTS, RESULTS, TEXTS, VALUES
from agentguard.verification import _document, _keys, _pool, _shape, _voice, _walk
from agentguard.verification._walk import MAX_LEAVES, Walk

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "agentguard" / "_core.c"
NAME = "agentguard._core"
FEW, BEGINNING, END = 12, 10, 2  # elements of a list that are looked at, and those of them at its two ends

interpreted = pytest.mark.skipif(not str(_document.__file__).endswith(".py"), reason="a compiled module has its core")


def built(folder: Path, *more: str) -> Any:
    """The core as the C compiler of this machine makes it, in haste, with ``more`` options."""
    compiler = shutil.which(shlex.split(sysconfig.get_config_var("CC") or "cc")[0])
    if compiler is None:
        pytest.skip("there is no C compiler on this machine")
    setuptools = pytest.importorskip("setuptools")
    from setuptools.command.build_ext import build_ext

    options = ["-O0", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", *more]
    extension = setuptools.Extension(NAME, [str(SOURCE)], extra_compile_args=options)
    command = build_ext(setuptools.Distribution({"ext_modules": [extension]}))
    command.build_lib, command.build_temp = str(folder / "lib"), str(folder / "temp")
    command.ensure_finalized()
    command.run()
    spec = importlib.util.spec_from_file_location(NAME, command.get_ext_fullpath(NAME))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _walk.configure(module)
    return module


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return built(tmp_path_factory.mktemp("core")) if _native.CORE is None else _native.CORE


numbers = (
    st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.decimals(-1000, 1000, places=3).map(float)
)
scalars = st.none() | st.booleans() | numbers | st.text(max_size=12)
keys = st.sampled_from(["id", "name", "a1", "a2", "é", 'q"', "a\n", ""]) | st.text(max_size=4)


def tables(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Rows with the same keys, mostly."""
    rows = st.lists(keys, max_size=4, unique=True).flatmap(
        lambda names: st.lists(st.fixed_dictionaries(dict.fromkeys(names, inner)), max_size=20)
    )
    return rows | st.tuples(rows, rows).map(lambda both: [*both[0], *both[1]])


values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=16) | st.dictionaries(keys, inner, max_size=6) | tables(inner)
)
#: Whatever may be written as JSON in several ways, and some ways in which it may be damaged.
written = st.builds(
    lambda value, options: json.dumps(value, **options),
    values,
    st.sampled_from([{}, {"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}]),
)
damages = st.sampled_from([*'"}]{[,:0\\e-. \n', "\x00", "\ud800", "\\u00e9", "\\ud83d\\ude00", "\\/", "1e5", ',"id":1'])


def walked(value: Any, budget: int) -> Any:
    walk = Walk(budget)
    walk.visit(value)
    return list(walk.leaves.items()), list(walk.forms), walk.typed, walk.complete, walk.is_heavy


def walked_natively(core: Any, value: Any, budget: int) -> Any:
    leaves: dict[str, list[Any]] = {}
    forms: dict[Any, None] = {}
    typed: list[Any] = []
    state = core.walk(value, budget, leaves, forms, typed)
    return None if state < 0 else (list(leaves.items()), list(forms), typed, state & 1 == 1, state > 1)


def _signed_logs(leaves: dict[str, list[Any]]) -> dict[str, float]:
    """The mean of the first six finite numbers at each path, on the signed-log scale."""
    means: dict[str, float] = {}
    for path, values in leaves.items():
        finite = [float(value) for value in values[:6] if type(value) in (int, float) and math.isfinite(value)]
        total = 0.0
        for x in finite:
            total += math.copysign(math.log(1.0 + abs(x)), x)
        if finite:
            means[path] = total / len(finite)
    return means


def cut_short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: cut_short(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    items = value if len(value) <= FEW else [*value[:BEGINNING], *value[-END:]]
    return [cut_short(item) for item in items]


class TestWalk:
    @given(value=values, budget=st.sampled_from([MAX_LEAVES, 40, 5, 0]))
    @example([{"a": 1}] * 13, MAX_LEAVES)
    @example([[{"a": [1, None, "x"]}, {"a": [2.0]}], [{"b": True, "a": {}}]], MAX_LEAVES)
    def test_it_meets_what_the_python_meets(self, core: Any, value: Any, budget: int) -> None:
        assert repr(walked_natively(core, value, budget)) == repr(walked(value, budget))

    @pytest.mark.parametrize("what", [*OBJECTS, *VALUES, *RESULTS])
    def test_what_nobody_expected_is_walked_alike_or_left(self, core: Any, what: str) -> None:
        make = OBJECTS.get(what) or RESULTS.get(what) or (lambda: VALUES[what])
        value = make()
        for inside in (value, {"of": value}, [value, value]):
            native = walked_natively(core, inside, MAX_LEAVES)
            if native is not None:  # then no code of others has run, and the Python does not fail either
                expected = walked(inside, MAX_LEAVES)
                assert native[1:] == expected[1:]
                assert [path for path, _ in native[0]] == [path for path, _ in expected[0]]
                assert all(one is other for path in range(len(native[0])) for one, other in
                           zip(native[0][path][1], expected[0][path][1], strict=True))  # fmt: skip

    def test_what_has_keys_that_are_no_text_is_left(self, core: Any) -> None:
        assert walked_natively(core, {"a": [{1: 2}]}, MAX_LEAVES) is None
        assert walked_natively(core, {type("Key", (str,), {})("a"): 1}, MAX_LEAVES) is None

    def test_what_finalisers_change_under_way_does_no_harm(self, core: Any) -> None:
        """A collection in the middle of a walk empties what is walked."""
        changed = 0

        class Emptying:
            def __init__(self, *victims: Any) -> None:
                self.me, self.victims = self, victims

            def __del__(self) -> None:
                nonlocal changed
                changed += 1
                for victim in self.victims:
                    victim.clear()

        rng = random.Random(7)
        before = gc.get_threshold()
        try:
            for _ in range(300):
                rows = [{"id": n, "tags": [str(n)] * 3, "of": {"a": n}} for n in range(rng.randrange(2, 40))]
                value = {"rows": rows, "of": {"rows": rows}, "last": [rows[0], rows[-1]]}
                Emptying(rows, value, *rows, *(row["tags"] for row in rows), *(row["of"] for row in rows))
                gc.set_threshold(rng.randrange(1, 120))
                walked_natively(core, value, MAX_LEAVES)
                gc.set_threshold(*before)
        finally:
            gc.set_threshold(*before)
        assert changed

    def test_what_it_is_not_given_is_refused(self, core: Any) -> None:
        for arguments in [(), ({}, 1, {}, {}, ()), ({}, "1", {}, {}, [])]:
            with pytest.raises(TypeError):
                core.walk(*arguments)


class TestOutline:
    @settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
    @given(text=written)
    @example('{"a": [1, 2.5, -0.0, 1e5, 0.00001, 123456789012345678901, 0.1000]}')
    @example('{"a": 1, "\\u0061": 2}')
    @example("[" + "[[1,2,3,4,5,6,7,8,9,10,11,12,13]]," * 40 + "[]]")
    @example('["\\ud83d\\ude00 \\u0007 \\u001F \\/ \\u2028"]')
    def test_it_is_the_compact_form_and_the_same_with_long_lists_cut(self, core: Any, text: str) -> None:
        outline = core.outline(text)
        if outline is None:
            return
        compact, short = outline
        value = orjson.loads(text)
        assert compact == orjson.dumps(value)
        assert repr(orjson.loads(compact if short is None else short)) == repr(cut_short(value))
        assert (short is None) == (cut_short(value) == value)

    @pytest.mark.parametrize(
        "text",
        [
            '{"rows": [{"id": 1, "price": 12.5}, {"id": 2, "price": 0.05}], "next": null, "last": true, "of": {}}',
            '["\\u00e9\\n\\"", "é", -12, 0.30000000000000004, [], [[]], 51.507351]',
            "[" + ", ".join(f'{{"id": {n}, "name": "Zo\\u00eb", "of": [{n}.5]}}' for n in range(400)) + "]",
        ],
    )
    def test_ordinary_text_is_not_left(self, core: Any, text: str) -> None:
        compact, short = core.outline(text)
        assert compact == orjson.dumps(orjson.loads(text))
        assert orjson.loads(compact if short is None else short) == cut_short(json.loads(text))

    @given(text=written, place=st.integers(0, 400), damage=damages, gone=st.integers(0, 2))
    def test_damaged_text_is_left_or_read_as_it_stands(
        self, core: Any, text: str, place: int, damage: str, gone: int
    ) -> None:
        at = min(place, len(text))
        damaged = text[:at] + damage + text[at + gone :]
        outline = core.outline(damaged)
        if outline is not None:
            assert outline[0] == orjson.dumps(orjson.loads(damaged))

    @pytest.mark.parametrize("text", ['{"a":1,"a":2}', '{"a":{"b":1,"b":1}}', '[{"a":1,"b":2},{"a":1,"b":2,"a":3}]'])
    def test_a_key_that_comes_twice_is_left(self, core: Any, text: str) -> None:
        assert core.outline(text) is None

    @pytest.mark.parametrize(
        "text",
        [
            *("", " ", "1", '"a"', "\ud800", "[][]", "[1", "[1]]", "[1,]", "{,}", '{"a"}', '{"a":}'),
            *("[01]", "[-]", "[1.]", "[NaN]", "[tru]", '["\t"]', '["\\ud800"]'),
        ],
    )
    def test_what_is_no_json_is_left(self, core: Any, text: str) -> None:
        assert core.outline(text) is None

    @pytest.mark.parametrize("what", TEXTS)
    def test_texts_that_nobody_expected(self, core: Any, what: str) -> None:
        text = TEXTS[what](200_000)
        outline = core.outline(text)
        if outline is not None:
            assert outline[0] == orjson.dumps(orjson.loads(text))


class TestTheRest:
    @given(text=st.binary(max_size=700))
    @example(b"")
    @example(bytes(128))
    @example(bytes(129))
    @example(bytes(256))
    def test_digests_are_those_of_blake2b(self, core: Any, text: bytes) -> None:
        assert core.blake2b(text) == blake2b(text, digest_size=16).digest()
        assert core.digest(bytearray(text)) == int.from_bytes(blake2b(text, digest_size=8).digest(), "little")

    @given(text=st.binary(max_size=400), copies=st.integers(1, 20))
    @example(bytes(64), 1)
    @example(b"\xff" * 127, 1)
    def test_checksums_are_those_of_zlib(self, core: Any, text: bytes, copies: int) -> None:
        text *= copies
        assert core.crc32(text) in (None, crc32(text))
        assert len(text) >= 64 or core.crc32(text) is None

    def test_what_has_a_second_form_for_wide_registers_does_without(self, tmp_path: Path, core: Any) -> None:
        narrow = built(tmp_path, "-DNARROW")
        for length in (0, 64, 128, 129, 1_000):
            text = random.Random(length).randbytes(length)
            assert narrow.blake2b(text) == core.blake2b(text) == blake2b(text, digest_size=16).digest()
            assert narrow.crc32(text) is None

    def test_digests_are_of_bytes_alone(self, core: Any) -> None:
        for take in (core.digest, core.blake2b, core.crc32):
            with pytest.raises(TypeError):
                take("text")

    @interpreted
    @given(value=st.text(max_size=40) | st.from_regex(r"[A-Z0-9a-z:/@\-]{0,40}", fullmatch=True))
    def test_formats(self, core: Any, value: str) -> None:
        native = core.string_format(value)
        assert (native is None) == (not value.isascii())
        assert native in (None, _shape.string_format(value))

    @interpreted
    @given(leaves=st.dictionaries(keys, st.lists(scalars, min_size=1, max_size=8), max_size=6), free=keys)
    @example({"a": [None, 7, "x1"], "b": [None, 7, None, "x1"], "c": ["\xe9"]}, "a")
    @example({"a": [True, 3, -0.5, float("inf"), float("nan"), "7", 1, 2, 3]}, "b")
    def test_formats_and_numbers_of_a_result(self, core: Any, leaves: dict[str, list[Any]], free: str) -> None:
        known = {free: None}
        by_core: dict[str, str] = {}
        is_done = core.formats(tuple(leaves), leaves, known, _shape.FORMATS_READ, by_core)
        firsts = {path: next((v for v in values[:3] if type(v) is str), None) for path, values in leaves.items()}
        texts = {path: text for path, text in firsts.items() if text is not None and path != free}
        assert is_done == all(text.isascii() for text in texts.values())
        assert list(by_core.items()) == [(path, _shape.string_format(text)) for path, text in texts.items() if is_done]
        means: dict[str, float] = {}
        core.numbers(tuple(leaves), leaves, _keys.NUMBERS_READ, means)
        assert list(means.items()) == list(_signed_logs(leaves).items())  # to the last digit

    def test_numbers_that_no_float_holds_are_refused(self, core: Any) -> None:
        with pytest.raises(OverflowError):
            core.numbers(("a",), {"a": [10**400]}, 6, {})
        with pytest.raises(KeyError):
            core.numbers(("a",), {}, 6, {})

    @given(numbers=st.lists(st.floats(0.0, 1e6), max_size=60), first=st.integers(0, 70))
    @example([1e16, 1.0, 1.0, 0.1, 0.3], 0)
    @example([0.1] * 48, 0)
    def test_the_sum_of_a_tail(self, core: Any, numbers: list[float], first: int) -> None:
        assert core.tail(array("d", numbers), first) == sum(numbers[first:])  # to the last digit

    @given(numbers=st.lists(st.floats(-9, 9) | st.sampled_from([0.0, -0.0, 1.0]), max_size=20), new=st.floats(-9, 9))
    def test_a_number_in_the_place_of_another(self, core: Any, numbers: list[float], new: float) -> None:
        ordered = array("d", sorted(numbers))
        for old in [*numbers, 10.0]:
            expected = array("d", ordered)
            insort(expected, new)
            taken = array("d", ordered)
            if old in ordered:
                del expected[bisect_left(expected, old)]
                assert core.replace(taken, old, new) is True
                assert taken.tobytes() == expected.tobytes()
            else:
                assert core.replace(taken, old, new) is False
                assert taken == ordered

    def test_statistics_of_other_arrays_are_refused(self, core: Any) -> None:
        for numbers in (array("f", [1.0]), b"12345678", [1.0], array("d", [1.0]).tobytes()):
            with pytest.raises((TypeError, BufferError)):
                core.tail(numbers, 0)
            with pytest.raises((TypeError, BufferError)):
                core.replace(numbers, 1.0, 2.0)

    @interpreted
    @given(
        learned=st.lists(st.binary(max_size=300), min_size=1, max_size=5), text=st.binary(min_size=4, max_size=5_000)
    )
    def test_bits(self, core: Any, learned: list[bytes], text: bytes) -> None:
        voice = _voice.Voice()
        for one in [*learned, b"known"]:
            voice.learn(one)
        size = min(len(text), _voice.READ) - _voice.LONGEST + 1
        scored = min(size, _voice.SCORED)
        likelihood = core.bits(text, voice.counts, size, scored)
        assert max(0.0, -math.log2(likelihood) / scored) == voice.bits(text)  # to the last digit

    @pytest.mark.parametrize(
        "arguments", [(b"abcd", array("H"), 1, 1), (b"abcd", array("H", bytes(8192)), 2, 1), (b"abcd", b"", 1, 1)]
    )
    def test_bits_of_too_little_are_refused(self, core: Any, arguments: Any) -> None:
        with pytest.raises(ValueError, match="counts"):
            core.bits(*arguments)

    @interpreted
    @given(
        calls=st.lists(
            st.tuples(
                st.sampled_from([1, 2, 2**64 - 1]),
                st.integers(0, 2**64 - 1),
                st.lists(st.integers(1, 4), max_size=4).map(tuple),
            ),
            max_size=20,
        ),
        asked=st.lists(st.integers(1, 4), max_size=4).map(tuple),
    )  # fmt: skip
    def test_what_was_called_in_between(self, core: Any, calls: list[Any], asked: tuple[int, ...]) -> None:
        log = _pool.SessionLog()
        for tool, result, marks in calls:
            log.push("s", tool, result, marks)
        expected = log.between("s", 2, asked)
        assert (_pool.NOTHING if not calls else _pool.Between(*core.between(calls[-16:], 2, asked))) == expected


@interpreted
class TestDocuments:
    """What is read with the core and without it is the same document."""

    @staticmethod
    def seen(value: Any, core: Any, budget: int = MAX_LEAVES) -> str:
        with pytest.MonkeyPatch.context() as patch:
            for module in (_document, _walk):
                patch.setattr(module, "CORE", core)
            document = _document.read(value, _document.Limits(max_nodes=budget))
            layout = None if document.layout is None else document.layout.described
            names = [name for name in _document.Document.__slots__ if name not in ("_value", "layout", "is_outlined")]
            outline = names.pop(names.index("outline"))
            assert repr(cut_short(document.value)) == repr(cut_short(getattr(document, outline)))
            return repr([document.value, layout, *[getattr(document, name) for name in names]])

    @given(value=values, text=written, budget=st.sampled_from([MAX_LEAVES, 10]))
    def test_of_any_value(self, core: Any, value: Any, text: str, budget: int) -> None:
        for result in (value, text):
            assert self.seen(result, core, budget) == self.seen(result, None, budget)

    @pytest.mark.parametrize("what", TEXTS)
    def test_of_texts_that_nobody_expected(self, core: Any, what: str) -> None:
        text = TEXTS[what](20_000)
        assert self.seen(text, core) == self.seen(text, None)


def test_the_environment_can_leave_it_alone() -> None:
    code = "from agentguard._native import CORE; print(CORE)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "AGENTGUARD_PURE_PYTHON": "1"},
    )
    assert run.stdout == "None\n"
