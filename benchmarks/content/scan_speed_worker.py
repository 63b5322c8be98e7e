"""Scanners of others, timed in an environment of their own: texts in on standard input, seconds out, as JSON lines."""

from __future__ import annotations

import json
import logging
import sys
import time
import types
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

LEAST_SECONDS = 0.2  # texts are scanned again until so much time has passed; the best round counts


def presidio() -> Callable[[str], Any]:
    """Every recogniser by pattern that presidio ships, without its language model."""
    import presidio_analyzer.predefined_recognizers as shipped
    import tldextract
    from presidio_analyzer import PatternRecognizer

    # Its e-mail recogniser would fetch a list of domains from the network at its first hit.
    tldextract.extract = tldextract.TLDExtract(suffix_list_urls=())
    logging.disable(logging.WARNING)
    classes = {
        each for each in vars(shipped).values() if isinstance(each, type) and issubclass(each, PatternRecognizer)
    }
    recognizers = [each() for each in classes if issubclass(each, PatternRecognizer) and each is not PatternRecognizer]
    return lambda text: [each.analyze(text, each.supported_entities) for each in recognizers]


def llm_guard() -> Callable[[str], Any]:
    """llm-guard's regex scanner with the patterns that it ships."""
    root = find_spec("llm_guard").submodule_search_locations[0]
    # The packages' own __init__ import torch, which neither module needs.
    for name in ("llm_guard", "llm_guard.input_scanners", "llm_guard.input_scanners.anonymize_helpers"):
        module = types.ModuleType(name)
        module.__path__ = [root + name.removeprefix("llm_guard").replace(".", "/")]
        sys.modules[name] = module
    import structlog
    from llm_guard.input_scanners.anonymize_helpers.regex_patterns import DEFAULT_REGEX_PATTERNS
    from llm_guard.input_scanners.regex import Regex

    # It logs each scan; that is not what is timed.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    expressions = [each for pattern in DEFAULT_REGEX_PATTERNS for each in pattern.get("expressions", ())]
    return Regex(patterns=expressions, redact=False).scan


def best_seconds(scan: Callable[[str], Any], texts: list[str]) -> float:
    """The shortest time that one round over the texts took, the first round aside."""
    for text in texts:
        scan(text)
    best, until = float("inf"), time.perf_counter() + LEAST_SECONDS
    while True:
        started = time.perf_counter()
        for text in texts:
            scan(text)
        ended = time.perf_counter()
        best = min(best, ended - started)
        if ended > until:
            return best


def main() -> None:
    scanners = {}
    for build in (presidio, llm_guard):
        try:
            scanners[build.__name__] = build()
        except Exception as error:
            print(f"{build.__name__} did not start: {type(error).__name__}: {error}", file=sys.stderr)
    for line in sys.stdin:
        texts = json.loads(line)
        print(json.dumps({name: best_seconds(scan, texts) for name, scan in scanners.items()}), flush=True)


if __name__ == "__main__":
    main()
