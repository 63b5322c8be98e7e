"""confirm_mismatch, against_mismatch: what another call, which the profile declares, says of this one."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from agentguard.verification._baseline import ToolMemory
from agentguard.verification._case import Case
from agentguard.verification._checks._base import DeclaredCheck
from agentguard.verification._read_back import Reading
from agentguard.verification.statistics import Rate
from agentguard.verification.types import UNREAD, SignalResult, Trait, VerificationTier

WHOLE: Final = 0.5  # of the faults replace a whole answer; the others spoil a field of it


class ReadBackMismatch(DeclaredCheck):
    """What one kind of second call says: P(it finds otherwise | fabricated) = .9, a judgement."""

    tier = VerificationTier.TIER_0
    group = "read back"
    fabricated = 0.9
    kind: ClassVar[Literal["confirm", "against"]]

    def __call__(self, case: Case, /) -> SignalResult:
        reading = next((one for one in case.readings if one.kind == self.kind), None)
        if reading is None:
            declared = getattr(case.contract.profile, self.kind)
            return self.abstain("not declared" if declared is None else f"{declared.tool} was not asked here")
        if reading.state == "not asked":
            return self.abstain(reading.detail)
        if reading.state == "unknown":
            return SignalResult(
                self.name, False, False, 0.0, 1.0, None, self.tier, reading.detail, self.group, (UNREAD,)
            )
        learns = isinstance(case.memory, ToolMemory)  # the published document's baselines know no declarations of ours
        if not reading.is_broken:
            if learns:
                return self._agreed(case, reading)
            return SignalResult(self.name, True, False, 0.0, 1.0, None, self.tier, reading.detail, self.group)
        traits = tuple(Trait("declared", field, reading.tool) for field in reading.fields)
        traits = traits or (Trait("declared", reading.state, reading.tool),)
        if learns:
            return self.broken(case, 1.0, reading.detail, *traits)
        ratio = self.ratio(case)
        return SignalResult(self.name, True, True, 1.0, ratio, None, self.tier, reading.detail, self.group, traits)

    def _agreed(self, case: Case, reading: Reading) -> SignalResult:
        """The signal of a second look that agrees: P(it does | fabricated) / P(it does | genuine).

        Of what is fabricated it would find otherwise what it looks at: of the whole answers that are wrong all, of the
        single fields that are its share of the result's. That half of the faults are of either kind is a judgement.
        """
        memory: ToolMemory = case.memory
        if not reading.told:  # it says no more than it was asked with
            return self.kept(case, reading.detail)
        if not reading.confirmed and not case.contract.profile.idempotent and case.arguments.key in memory.keys.by_key:
            detail = f"{reading.detail}, which an earlier call has written too"
            return SignalResult(self.name, True, False, 0.0, 1.0, None, self.tier, detail, self.group)
        places = case.document.leaves.keys()
        looked_at = len(case.vouched & places) / len(places) if places else 1.0
        seen = self.fabricated * (WHOLE + (1.0 - WHOLE) * looked_at)
        genuine = self._genuine_rate(memory.contracts.get(self.name) or Rate(), self.ratio(case))
        likelihood = (1.0 - seen) / (1.0 - seen * genuine / self.fabricated)
        return SignalResult(self.name, True, False, 0.0, likelihood, None, self.tier, reading.detail, self.group)


class ConfirmMismatch(ReadBackMismatch):
    """Holds what a call has written against what is read afterwards, as ``confirm`` declares.

    The guard makes the second call. Where it could not be asked the signal does not apply, and the verdict is ``flag``
    at least; where nobody makes calls, as in a replay, it does not apply and the verdict is as without it.
    """

    name = "confirm_mismatch"
    kind = "confirm"


class AgainstMismatch(ReadBackMismatch):
    """Holds an answer against that of a second source, as ``against`` declares; else as ``confirm_mismatch``."""

    name = "against_mismatch"
    kind = "against"


READ_BACK: Final = (ConfirmMismatch(), AgainstMismatch())
