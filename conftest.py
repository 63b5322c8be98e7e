"""What pytest leaves out on this Python, and what it needs of the shell that runs it."""

import signal
import sys

# pydantic-ai has no release for Python 3.10.
NEEDS_PYDANTIC_AI = ["integrations/pydantic_ai.py", "tests/integrations/pydantic_ai"]

collect_ignore = NEEDS_PYDANTIC_AI if sys.version_info < (3, 11) else []

# A shell that runs the tests in the background ignores SIGINT, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
