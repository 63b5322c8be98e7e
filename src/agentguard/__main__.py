"""``python -m agentguard``: the command ``agentguard``."""

from agentguard.cli import main

if __name__ == "__main__":
    main()
