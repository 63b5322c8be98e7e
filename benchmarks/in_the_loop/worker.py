"""One contestant through all episodes: run by the Python of its own environment, driven by ``course.py``.

Takes a JSON order from standard input: the folders of the company, its traffic, the episodes, and which contestant. An
episode of one that learns runs in a copy of the process, in which it has learned the traffic and nothing else. Writes a
line with the runs of some episodes as they are done.
"""

from __future__ import annotations

import gc
import json
import logging
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from time import process_time

sys.path.append(str(Path(__file__).resolve().parents[1]))  # under -I not even this folder is on the path

from lasting.forks import AT_ONCE, forked

from in_the_loop.faults import Past
from in_the_loop.model import chat_agent
from in_the_loop.plan import episode_from
from in_the_loop.runs import Contestant, Episode, Run, Scenery, Stage, Worker, run_episode, scenery, scripted
from in_the_loop.traffic import Answer, Made

CHUNK = 20  # episodes for which one copy of the company is made


def main() -> None:
    """Run the order and end."""
    logging.getLogger().addHandler(logging.NullHandler())  # what a guard logs would go between the progress bars
    order = json.load(sys.stdin)
    traffic = [Made(session, tool, args, Answer(*answer)) for session, tool, args, answer in order["traffic"]]
    past = Past(traffic, Path(order["yesterday"]))
    module, _, factory = order["contestant"].partition(":")
    sys.path[:0] = order["path"]
    contestant: Contestant = getattr(import_module(module), factory)()
    started = process_time()
    contestant.learn(traffic)
    print(json.dumps({"learned": 1e3 * (process_time() - started) / len(traffic)}), flush=True)
    gc.collect()
    gc.freeze()  # what was learned is not gone through in every copy
    model = order["model"]
    episodes = iter([episode_from(plain) for plain in order["episodes"]])
    while some := list(islice(episodes, AT_ONCE * CHUNK)):
        jobs = [
            partial(_chunk, contestant, some[at::AT_ONCE], past, Path(order["today"]), model) for at in range(AT_ONCE)
        ]
        runs = [run for answer in forked(jobs) for run in answer]
        print(json.dumps({"episodes": len(some), "runs": runs}), flush=True)


def _chunk(contestant: Contestant, episodes: Sequence[Episode], past: Past, today: Path, model: str) -> list[Run]:
    worker = chat_agent(model) if model else scripted
    with scenery(today) as made:
        if not contestant.learns:
            with Stage(made, past) as stage:
                return [run for episode in episodes for run in run_episode(contestant, episode, stage, worker)]
        # Each in a copy that ends with the episode. It opens the company itself: no database may be open across a fork.
        jobs = [partial(_episode, contestant, episode, past, made, worker) for episode in episodes]
        return [Run(*run) for answer in forked(jobs, at_once=1) for run in answer]


def _episode(contestant: Contestant, episode: Episode, past: Past, made: Scenery, worker: Worker) -> list[Run]:
    with Stage(made, past) as stage:
        return run_episode(contestant, episode, stage, worker)


if __name__ == "__main__":
    main()
