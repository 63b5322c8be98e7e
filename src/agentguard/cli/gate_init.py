"""The configuration that ``agentguard gate init`` writes: every section, with what it is for."""

from __future__ import annotations

import json
from pathlib import Path

from agentguard.errors import ConfigurationError, DataError

from .output import console, printable, show, write_json

__all__ = ["init_gate"]

_TEMPLATE = """\
# What correctness means for one use of a model: read by 'agentguard gate'. Secrets do not belong here: keys are taken
# from the environment. Paths are relative to this file's folder.

use_case: {use_case}

risk_tolerance:            # risk = (unsupported claims + half of the weakly supported ones) / all claims
  deploy_threshold: 0.10   # up to this risk: deploy
  warn_threshold: 0.25     # up to this one: deploy with a warning; above it: block

doc_sources:               # what is trusted; nothing else counts
  - type: local
    path: {documents}
#  - type: http
#    urls: ["https://example.com/help/returns"]
#  - type: s3
#    bucket: company-docs
#    prefix: support/

evaluation:
  num_prompts: 20          # how many questions are written, where none are given
  prompt_categories: [factual_recall, edge_cases, policy_boundaries, ambiguous_queries]
#  prompts: prompts.yaml   # questions of your own, in place of written ones
#  responses: answers.jsonl  # recorded answers: no model is asked; lines of {{"prompt": …, "response": …}}
  passages: 5              # how many passages a claim is held against
  max_concurrency: 8       # how many requests to a model are under way at once

model:                     # the model under test
  provider: ollama         # or bedrock, openai, …
  model_id: llama3.2
#  base_url: "http://localhost:11434"

# The model that writes the questions and judges the claims; never the one under test. Without it, rules do both.
# judge:
#   provider: bedrock
#   model_id: "anthropic.claude-3-sonnet-20240229-v1:0"

# The model whose vectors the documents are searched by. Without it, vectors of n-grams, which know spelling.
# embeddings:
#   provider: bedrock
#   model_id: "amazon.titan-embed-text-v2:0"

# Documents, audit trail and history on a cluster (key: ELASTICSEARCH_API_KEY). Without it, in the folder below.
# elasticsearch:
#   host: "https://localhost:9200"
#   index: trusted_docs

embedded:
  path: .llm-reliability
"""


def init_gate(path: str, use_case: str, documents: str, *, as_json: bool) -> None:
    """Write a configuration to begin with, where none is yet.

    Raises:
        ConfigurationError: where there is a file already.
        DataError: where it cannot be written.
    """
    # A string of JSON is one of YAML.
    text = _TEMPLATE.format(use_case=json.dumps(use_case), documents=json.dumps(documents))
    try:
        with Path(path).open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigurationError(f"{printable(path)} is there already, and stays as it is") from None
    except (OSError, ValueError) as error:
        said = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise DataError(f"cannot write {printable(path)}: {said}") from None
    if as_json:
        write_json({"written": path})
    else:
        told = f"{printable(path)} is written; name your model in it, then 'agentguard gate run'"
        console().print(show(told, limit=2_000), soft_wrap=True)
