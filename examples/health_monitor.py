"""Watch the health of a model: it answers as usual, and in the end slowly and without the JSON it always gave.

Offline: a script stands for the model, and a clock of its own for the time that it takes.
"""

from agentguard.health import HealthResult, LLMMonitor

now = 0.0
results: list[HealthResult] = []
monitor = LLMMonitor(on_result=results.append, clock=lambda: now)


@monitor.wrap
def ask(question: str) -> str:
    """What the model says; it takes 0.4 seconds as a rule, and 3 where it does not know."""
    global now
    now += 3.0 if "Atlantis" in question else 0.4
    return "I am not sure about that one." if "Atlantis" in question else '{"city": "Oslo", "degrees": 18}'


for _ in range(20):
    ask("How warm is it in Oslo?")
print(f"20 calls, usually {monitor.baseline('ask').latency_ms:.0f} ms: {results[-1].health}")

ask("How warm is it in Atlantis?")
for finding in results[-1].findings:
    print(f"{finding.status}: {finding.metric}: {finding.detail}")
print(f"{results[-1].health}: {results[-1].score:.2f}")
