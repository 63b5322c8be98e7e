"""A scanner of several detectors: injected instructions, personal data and credentials in one pass over a text."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from itertools import chain, zip_longest
from types import MappingProxyType

from agentguard._limits import LIMITS
from agentguard.content._findings import KINDS
from agentguard.content._patterns import Catalogue
from agentguard.content._recognizers import AT_LEAST, ScanResult
from agentguard.content.injection import BLOCK_AT, FLAG_AT, InjectionResult, judge
from agentguard.content.injection._evidence import GROUPS
from agentguard.content.pii import DETECTOR as PII
from agentguard.content.secrets import DETECTOR as SECRETS
from agentguard.errors import ConfigurationError


class Scanner:
    """Look for several kinds of things in texts. It keeps nothing of a text, and threads may share it.

    Args:
        kinds: which of ``KINDS`` to look for.
        pii_kinds: as for :func:`agentguard.content.pii.scan`.
        secret_kinds: as for :func:`agentguard.content.secrets.scan`.
        at_least: how certain personal data and credentials must be, 0 to 1.
        flag_at: the score from which a text is suspicious of an injection.
        block_at: the score from which it is one.

    Raises:
        ConfigurationError: no kind, or one that does not exist; on the first scan, thresholds or names that do not.

    >>> results = Scanner(("pii", "secrets")).scan("ada@example.org / postgres://app:tea4two@db.internal/shop")
    >>> {kind: [finding.kind for finding in result.findings] for kind, result in results.items()}
    {'pii': ['email'], 'secrets': ['database_password']}
    """

    def __init__(
        self,
        kinds: Collection[str] = KINDS,
        *,
        pii_kinds: Collection[str] | None = None,
        secret_kinds: Collection[str] | None = None,
        at_least: float = AT_LEAST,
        flag_at: float = FLAG_AT,
        block_at: float = BLOCK_AT,
    ) -> None:
        unknown = ", ".join(sorted(repr(kind) for kind in kinds if kind not in KINDS))
        if unknown or not kinds:
            raise ConfigurationError(f"a scanner looks for {', '.join(KINDS)}, not for {unknown or 'nothing'}")
        self.kinds = tuple(kind for kind in KINDS if kind in kinds)
        self._pii_kinds = pii_kinds
        self._secret_kinds = secret_kinds
        self._at_least = at_least
        self._thresholds = (flag_at, block_at)
        self._catalogue = _catalogue(self.kinds)
        self._needs_pattern = PII.needs_pattern(pii_kinds, at_least) and SECRETS.needs_pattern(secret_kinds, at_least)
        # What is said of every text in which no pattern occurs, from the first of them on.
        self._nothing: MappingProxyType[str, InjectionResult | ScanResult] | None = None

    def scan(
        self,
        text: str,
        *,
        tools: Iterable[str] | None = None,
        expected: Iterable[str] | None = None,
        most: int = LIMITS.values,
        every: bool = False,
    ) -> MappingProxyType[str, InjectionResult | ScanResult]:
        """Look through one text; the result of each kind by the kind's name.

        Args:
            text: any text.
            tools: as for :func:`agentguard.content.injection.scan`.
            expected: as for :func:`agentguard.content.injection.scan`.
            most: findings of a kind, beyond which the search is given up: it takes time, and each takes memory.
            every: find all places of an injection, for who is to take them out; else as many as tell what is there.

        Raises:
            DataError: of every place of an injection, there are more than ``most``.
        """
        found = self._catalogue.look(text)
        if self._nothing is not None and not found.names:
            return self._nothing
        results: dict[str, InjectionResult | ScanResult] = {}
        if "injection" in self.kinds:
            flag_at, block_at = self._thresholds
            results["injection"] = judge(
                found, flag_at=flag_at, block_at=block_at, tools=tools, expected=expected, most=most, every=every
            )
        if "pii" in self.kinds:
            results["pii"] = PII.judge(found, self._pii_kinds, at_least=self._at_least, most=most)
        if "secrets" in self.kinds:
            results["secrets"] = SECRETS.judge(found, self._secret_kinds, at_least=self._at_least, most=most)
        judged = MappingProxyType(results)
        if self._needs_pattern and not found.names:
            self._nothing = judged
        return judged


@cache
def _catalogue(kinds: tuple[str, ...]) -> Catalogue:
    """The patterns of these kinds, shared by all scanners of them: an automaton takes a second and some megabytes."""
    groups = {"injection": GROUPS, "pii": PII.groups, "secrets": SECRETS.groups}
    alike = zip_longest(*(groups[kind] for kind in kinds), fillvalue=())
    return Catalogue(*(tuple(chain.from_iterable(each)) for each in alike))


def scan_all(text: str) -> MappingProxyType[str, InjectionResult | ScanResult]:
    """Look for every kind in one text, with the default settings.

    >>> {kind: result.label for kind, result in scan_all("Mail ada@example.org.").items()}
    {'injection': 'clean', 'pii': 'pii', 'secrets': 'clean'}
    """
    return Scanner().scan(text)
