"""A run whose stage stalls, for a test that kills it: ``python stalling_run.py CONFIG STAGE``."""

import sys
from pathlib import Path

from agentguard.gate import GateConfig, Services, evaluate, ingest, load_config, open_services
from agentguard.gate._run import STAGES, GateState, Stage


def stalling(stage: Stage) -> Stage:
    def stall(state: GateState, services: Services) -> None:
        print("stalled", flush=True)
        sys.stdin.read()  # until the process is killed

    stall.__name__ = stage.__name__
    return stall


def main(config: GateConfig, stage: str) -> None:
    with open_services(config) as services:
        ingest(config, services)
        evaluate(config, services, stages=[stalling(one) if one.__name__ == stage else one for one in STAGES])


if __name__ == "__main__":
    main(load_config(Path(sys.argv[1])), sys.argv[2])
