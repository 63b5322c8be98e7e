"""A finished run as JUnit XML, read by a parser and held to the shape that its readers expect."""

from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.gate._run import GateRun
from agentguard.gate.reports import junit_xml

# What readers of JUnit XML know (Jenkins' junit-10.xsd): the attributes an element must and may have, its children.
SHAPE: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors", "skipped"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"},
        {"properties", "testcase"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, {"name", "value"}, set()),
    "testcase": ({"name", "classname"}, {"name", "classname", "time"}, {"skipped", "failure"}),
    "skipped": (set(), {"message"}, set()),
    "failure": (set(), {"message", "type"}, set()),
}


def parsed(document: str) -> Xml.Element:
    return Xml.fromstring(document.encode())  # noqa: S314  # the document is our own


def check_shape(root: Xml.Element) -> None:
    assert root.tag == "testsuites"
    for element in root.iter():
        needed, known, children = SHAPE[element.tag]
        assert needed <= set(element.attrib) <= known
        assert {child.tag for child in element} <= children
    for suite in root.iter("testsuite"):
        assert suite.attrib["tests"] == str(len(suite.findall("testcase")))
        assert suite.attrib["failures"] == str(len(suite.findall("testcase/failure")))
        assert suite.attrib["skipped"] == str(len(suite.findall("testcase/skipped")))


def test_a_claim_is_a_test_case(run: GateRun) -> None:
    root = parsed(junit_xml(run))

    check_shape(root)
    cases = root.findall("testsuite/testcase")
    assert [(case.attrib["classname"], case.attrib["name"]) for case in cases] == [
        ("factual_recall", "p1.c1: The warranty lasts three years."),
        ("factual_recall", "p1.c2: Returns take 30 days."),
        ("help desk", "p2.c1: The staff are nice."),
    ]
    assert [[child.tag for child in case] for case in cases] == [["failure"], [], ["skipped"]]
    failure = cases[0][0]
    assert (failure.attrib["type"], failure.attrib["message"]) == ("unsupported", "three is not two")
    for said in ("document: docs/warranty.md", "heading: Warranty > How long", "quote: The warranty lasts two years."):
        assert said in (failure.text or "")


def test_the_suite_tells_of_the_run(run: GateRun) -> None:
    [suite] = parsed(junit_xml(run)).findall("testsuite")

    told = {one.attrib["name"]: one.attrib["value"] for one in suite.findall("properties/property")}
    assert (told["decision"], told["risk"], told["run_id"]) == ("block", "0.5", run.run_id)
    assert suite.attrib["timestamp"] == "2026-11-21T12:00:00"
    assert (suite.attrib["time"], suite.attrib["hostname"]) == ("12.500", "builder")


def test_no_claim_is_an_empty_suite(build: Any) -> None:
    root = parsed(junit_xml(build(claims=0)))

    check_shape(root)
    assert root.attrib["tests"] == "0"


@pytest.mark.parametrize("text", ["\x00\x1b[31m", "\ud83d", "\ufffe\uffff", "]]><evil/>&amp;\"'", "a\nb\x85c\u2028d"])
def test_text_from_outside_is_text(build: Any, text: str) -> None:
    root = parsed(junit_xml(build(text)))

    check_shape(root)


@given(st.text(st.characters(), max_size=30))
def test_any_text_leaves_a_document_that_can_be_read(build: Any, text: str) -> None:
    check_shape(parsed(junit_xml(build(text))))


def test_names_are_cut(build: Any) -> None:
    root = parsed(junit_xml(build("x" * 5_000)))

    assert all(len(case.attrib["name"]) <= 200 for case in root.iter("testcase"))
