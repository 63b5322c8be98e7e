"""A guarded function makes a result up once: its caller sees the block, and calls again."""

from agentguard import ResultBlocked, VerificationEngine
from agentguard.integrations.functions import guarded

engine = VerificationEngine()
engine.register_tool_profile("exchange_rate", required_fields=["rate", "as_of"], has_network_io=False)
answers = iter([{"rate": "about 1.1, I believe"}, {"rate": 1.0861, "as_of": "2024-05-17"}])


@guarded(engine)
def exchange_rate(base: str, quote: str) -> dict[str, object]:
    """The rate of the day."""
    return next(answers)


try:
    rate = exchange_rate("EUR", "USD")
except ResultBlocked as blocked:
    print(f"P(fabricated) = {blocked.posterior:.2f}: {blocked.reason}")
    rate = exchange_rate("EUR", "USD")

print(f"Recovered: one euro is {rate['rate']} dollars as of {rate['as_of']}.")
