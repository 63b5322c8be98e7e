"""An answer and a call are traced to what tools returned: what nobody said is found before it is sent or run."""

from agentguard.content import grounding

results = [
    {"hotel": "Aurora", "price": 65.0, "nights": 3, "email": "stay@aurora.example"},
    {"hotel": "Borealis", "price": 82.5, "nights": 3, "email": "desk@borealis.example"},
]
answer = (
    "Aurora costs 65 a night, 195.00 in total; Borealis is 17.50 more. Check-in is at 3 pm, and breakfast costs 14.90."
)
grounded = grounding.check(answer, results)
for trace in grounded.supported:
    print(f"  {answer[trace.start : trace.end]!r}: {trace.how} ({trace.path})")
for finding in grounded.findings:
    print(f"! {finding.kind}: {finding.detail}")

question = "Please ask the Aurora whether they have a room for 16 May."
call = {"to": "info@aurora.example", "date": "2024-05-16", "body": "Do you have a room?"}
known = grounding.check_arguments(call, [question], results)
for finding in known.findings:
    print(f"! {finding.kind}: {finding.detail}")
print(f"The answer is {grounded.label} ({grounded.score:.2f}), the arguments are {known.label} ({known.score:.2f}).")
