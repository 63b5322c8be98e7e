"""What pytest leaves out on this Python."""

import sys

# pydantic-ai has no release for Python 3.10.
NEEDS_PYDANTIC_AI = ["integrations/pydantic_ai.py", "tests/integrations/pydantic_ai"]

collect_ignore = NEEDS_PYDANTIC_AI if sys.version_info < (3, 11) else []
