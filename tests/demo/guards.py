"""Stand-ins for the engine whose verdicts are known in advance."""

from agentguard.verification import SignalResult, VerificationResult, VerificationTier


def verdict_of(tool, call_id, verdict, posterior, nats=()):
    signals = {
        name: SignalResult(name, True, True, 1.0, 2.0, 0.01, VerificationTier.TIER_1, f"what [{name}] found")
        for name, _ in nats
    }
    tier = VerificationTier.TIER_1
    return VerificationResult(verdict, posterior, 0.15, signals, dict(nats), tier, None, tool, call_id, "")


class Always:
    """Gives every answer the same verdict and remembers what it was asked."""

    def __init__(self, verdict):
        self.verdict = verdict
        self.profiles = {}
        self.asked = []

    def register_tool_profile(self, name, **fields):
        self.profiles[name] = fields

    def verify(self, tool, **given):
        self.asked.append((tool, given))
        return verdict_of(tool, given["call_id"], self.judge(tool, given), 0.5)

    def judge(self, tool, given):
        return self.verdict


class Interrupted(Always):
    """Accepts until its n-th call, in which the error comes."""

    def __init__(self, n, error):
        super().__init__("accept")
        self.n, self.error = n, error

    def judge(self, tool, given):
        if len(self.asked) == self.n:
            raise self.error
        return self.verdict


class Oracle(Always):
    """Knows the true answers and objects to all others."""

    def __init__(self, truth, objection="block"):
        super().__init__(objection)
        self.truth = iter(truth)
        self.expected = None

    def judge(self, tool, given):
        if self.expected is None:
            self.expected = next(self.truth)
        true = given["result"] == self.expected
        if true or self.verdict != "block":
            self.expected = None  # the agent goes on to its next call
        return "accept" if true else self.verdict
