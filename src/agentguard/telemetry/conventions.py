"""Names of OpenTelemetry's semantic conventions for generative AI, and ours beside them.

They are spelt out here since the package that has them as constants calls all of them incubating, and moves them.
"""

from __future__ import annotations

from typing import Final

# --- Of the conventions ---

EXECUTE_TOOL: Final = "execute_tool"
OPERATION_NAME: Final = "gen_ai.operation.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
EXECUTE_TOOL_DURATION: Final = "gen_ai.execute_tool.duration"
#: Seconds; what the conventions advise for durations of generative AI.
DURATIONS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)

EVALUATION_RESULT: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_SCORE: Final = "gen_ai.evaluation.score.value"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"

# --- Ours ---

#: What is evaluated: the score is P(fabricated), the label the verdict.
FABRICATION: Final = "fabrication"
VERDICT: Final = "agentguard.verdict"
POSTERIOR: Final = "agentguard.posterior"
FALSE_BLOCK_P: Final = "agentguard.false_block_p"
TIER: Final = "agentguard.tier"
FIRED: Final = "agentguard.signals.fired"
SIGNAL: Final = "agentguard.signal"
GUARD_DURATION: Final = "agentguard.guard.duration"
VERDICTS: Final = "agentguard.verdicts"
#: A lasting change of a tool that took another state; and its attributes.
CHANGE_ID: Final = "agentguard.change.id"
CHANGE_STATE: Final = "agentguard.change.state"
CHANGES: Final = "agentguard.changes"
CHANGES_OPEN: Final = "agentguard.changes.open"
STORE_LAG: Final = "agentguard.store.lag"
STORE_WAITING: Final = "agentguard.store.waiting"
