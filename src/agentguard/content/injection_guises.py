"""Phrases by which data passes for more: a role, a code, a later turn, a letter to the model, a program. In English.

Gaps are a few words, so that the automaton stays small.
"""

from __future__ import annotations

from agentguard.content.injection_triggers import (
    DELIMITER_ATTACK,
    ENCODING_BYPASS,
    INDIRECT_INJECTION,
    LIGHT,
    MEDIUM,
    MULTI_TURN_ATTACK,
    PAYLOAD_INJECTION,
    STRONG,
    WEAK,
    Trigger,
)

__all__ = ["GUISES"]

_ASSISTANT = (
    r"(?:AI|A\.I\.|LLMs?|large language model|language model|AI model|AI assistant|AI agent|chat ?bot|assistant"
    r"|GPT(?:-\w+)?"
    r"|ChatGPT|Claude|Gemini|Llama|Copilot|Bard|Mistral|virtual assistant|automated (?:agent|assistant|system))"
)

GUISES = (
    # --- Delimiter attack: marks that end the data, or begin a role ---
    Trigger(
        "delimiter/chat",
        DELIMITER_ATTACK,
        STRONG,
        "marks of a chat template",
        r"(?i)<\|(?:im_start|im_end|im_sep|system|user|assistant|end(?:of(?:text|prompt))?|eot_id|start_header_id"
        r"|end_header_id|begin_of_text)\|>"
        r"|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|\{\{#(?:system|user|assistant)~?\}\}",
    ),
    Trigger(
        "delimiter/role",
        DELIMITER_ATTACK,
        MEDIUM,
        "a line spoken by another role",
        r"(?i)(?:^|\n|\\n|[\"'>])\s*(?:#{1,6}\s*|\*\*|\[|<)?(?:system(?: (?:prompt|message|instruction|note))?"
        r"|developer message|human|assistant|AI)"
        r"(?:\*\*|\]|>)?\s*:\s*(?:you |please |ignore|disregard|forget|new |the user|from now|do not|always|never"
        r"|your |sure|of course|okay)",
    ),
    Trigger(
        "delimiter/heading",
        DELIMITER_ATTACK,
        LIGHT,
        "a heading of a prompt",
        r"(?i)#{2,6}\s*(?:system(?: prompt| message| instructions?)?|(?:new|end of|hidden|real) instructions?|assistant"
        r"|human)"
        r"\s*[:#\n]",
    ),
    Trigger(
        "delimiter/role json",
        DELIMITER_ATTACK,
        MEDIUM,
        "a message with a role, as the model's API takes it",
        r"(?i)[\"']role\\?[\"']\s*:\s*\\?[\"'](?:system|developer|assistant)\\?[\"']\s*,\s*\\?[\"']content",
    ),
    Trigger(
        "delimiter/end",
        DELIMITER_ATTACK,
        STRONG,
        "claims that the data ends here",
        r"(?i)(?:[-=#*_<\[]{2,}|</|\[)\s*/?\s*(?:end|begin|start) ?(?:of )?(?:the )?(?:\w+ )?(?:document|data|context"
        r"|tool (?:output|result|response)s?|"
        r"system (?:prompt|message|instructions?)|admin (?:message|instructions?)|untrusted (?:data|content|text)"
        r"|user (?:input|prompt|query)|"
        r"instructions|prompt|search results?)\b",
    ),
    Trigger(
        "delimiter/tag",
        DELIMITER_ATTACK,
        MEDIUM,
        "a tag that frames a prompt",
        r"(?i)</?(?:user_?query|user_?request|new_?(?:task|instructions?)|sudo|untrusted[-_]\w+"
        r"|system[-_](?:prompt|message|reminder|note|instructions?|override)|tool[-_]?(?:result|output|response)s?"
        r"|function[-_]?results?)(?:\s[^<>\n]*)?>",
    ),
    Trigger(
        "delimiter/plain tag",
        DELIMITER_ATTACK,
        LIGHT,
        "a tag that may frame an instruction",
        r"(?i)</?(?:system|instructions?|admin|information|important|urgent|prompt|override|secret|assistant"
        r"|developer)(?:\s[^<>\n]*)?>",
    ),
    # --- Encoding bypass ---
    Trigger(
        "encoding/decode",
        ENCODING_BYPASS,
        MEDIUM,
        "has something decoded and done",
        r"(?i)\b(?:decode|decrypt|decipher|unscramble|un-?rot13|base64[ -]decode)(?:[^\w.;=!?]+\w+){0,8}[^\w.;=!?]+"
        r"(?:and"
        r"|then)[^\w.;=!?]+(?:then )?"
        r"(?:follow|execute|obey|run|do|perform|carry|act|answer|comply|respond)",
    ),
    # --- Multi-turn attack ---
    Trigger(
        "turns/store",
        MULTI_TURN_ATTACK,
        MEDIUM,
        "sets something up for a later turn",
        r"(?i)\b(?:whenever|when(?:ever)?|if|once|next time|after|as soon as) (?:I|the user|someone) (?:says?|types?"
        r"|writes?|asks?|mentions?|sends?)"
        r"(?:[^\w.;=!?]+\w+){0,6}[^\w.;=!?]+(?:you (?:must|will|should|shall|are to)|respond|reply|answer|call|execute"
        r"|run"
        r"|output|print|send)\b",
    ),
    Trigger(
        "turns/assemble",
        MULTI_TURN_ATTACK,
        MEDIUM,
        "has parts put together and done",
        r"(?i)\b(?:concatenate|combine|join|put together|assemble|merge)(?:[^\w.;=!?]+\w+){0,6}[^\w.;=!?]+(?:and"
        r"|then)[^\w.;=!?]+"
        r"(?:execute|follow|obey|run|carry out|comply with|do what)\b",
    ),
    Trigger(
        "turns/agreed",
        MULTI_TURN_ATTACK,
        WEAK,
        "appeals to an agreement in an earlier turn",
        r"(?i)\b(?:as (?:we|you) (?:agreed|discussed|promised|confirmed)|you (?:already )?(?:agreed|promised|confirmed"
        r"|said you would)|"
        r"remember (?:that )?you (?:agreed|promised|said|are))\b",
    ),
    Trigger(
        "turns/play",
        MULTI_TURN_ATTACK,
        WEAK,
        "opens a game with rules of its own",
        r"(?i)\b(?:let'?s|let us|we(?:'re| are)(?: going to)?) (?:play(?:ing)? a game|role-?play|pretend|imagine)\b",
    ),
    # --- Indirect injection: data that speaks to the assistant ---
    Trigger(
        "indirect/address",
        INDIRECT_INJECTION,
        MEDIUM,
        "speaks to an AI that reads it",
        r"(?i)\b(?:dear|hey|hello|hi|attention|note (?:to|for)|notice (?:to|for)|message (?:to|for)|(?:special "
        r"|important )?instructions? (?:to|for)|"
        rf"for|to)(?: you,?| the| any| all| every|,)*\s+{_ASSISTANT}(?: model| agent| assistant| system| reader)?s?"
        rf"(?:\s*[:,!.\]]\s|\s(?:reading|processing|summari[sz]ing|parsing|analy[sz]ing|that reads?|who reads?))",
    ),
    Trigger(
        "indirect/if you are",
        INDIRECT_INJECTION,
        STRONG,
        "speaks to an AI that reads it",
        rf"(?i)\b(?:if|since|as|because) you(?:'re| are) (?:an?|the) (?:\w+ )?{_ASSISTANT}\b",
    ),
    Trigger(
        "indirect/when reading",
        INDIRECT_INJECTION,
        MEDIUM,
        "waits for an AI that reads it",
        r"(?i)\b(?:when|while|if|before|after|upon) (?:you (?:are )?)?(?:summari[sz]|process|read|analy[sz]|pars"
        r"|translat|review|index|scrap|crawl)\w*"
        r" (?:this|the|these|my)(?: \w+)? (?:e-?mail|page|document|text|message|review|website|content|file|data"
        r"|article|post|ticket|resume|cv)s?,? "
        r"(?:you |please |also |do |don'?t |always |make |ignore|include|add|say|tell|first|must|the (?:assistant|AI"
        r"|model))",
    ),
    Trigger(
        "indirect/from me",
        INDIRECT_INJECTION,
        STRONG,
        "claims to come from the user",
        r"(?i)\b(?:message|request|instruction|order|note|task|command)s? from (?:me|your user|the user|your (?:owner"
        r"|creator|developer|operator|"
        r"principal)s?)\b(?:[^\w.;=!?]+\w+){0,5}[^\w.;=!?]+(?:to you|for you|to the (?:assistant|AI|model|agent))\b",
    ),
    Trigger(
        "indirect/code",
        INDIRECT_INJECTION,
        MEDIUM,
        "has foreign code taken into the assistant's own",
        r"(?i)\b(?:following|subsequent|below|next|above|this)\s+(?:\w+\s+)?code\s+(?:snippet|block|excerpt|section"
        r"|segment|fragment|sample|sequence|"
        r"piece|portion|lines?)\b(?:[^\n.]{0,80}\byour\b|(?: \w+){0,3} in (?:it|the (?:answer|response|solution|code)))"
        r"|\byour\s+(?:\w+\s+)?(?:code|codebase|solution|implementation|algorithm|script|program|project|function"
        r"|response|answer)"
        r"\b[^\n.]{0,80}\b(?:following|subsequent|below|next)\s+code\b",
    ),
    # --- Payload injection: what is run where the text arrives ---
    Trigger(
        "payload/shell",
        PAYLOAD_INJECTION,
        MEDIUM,
        "a shell command that harms",
        r"(?i)\brm\s+-(?:rf|fr|r\s+-f)\s+(?:--no-preserve-root\s+)?[/~$*]|\bnc\s+-\w*e\s|/dev/tcp/|:\(\)\s*\{\s*:\|:&"
        r"|\bmkfs\.\w+\s+/dev|\bdd\s+if=/dev/\w+\s+of=/dev/|powershell(?:\.exe)?\s+-e(?:nc)?\w*\s",
    ),
    Trigger(
        "payload/loaded",
        PAYLOAD_INJECTION,
        WEAK,
        "a program that is loaded and run",
        r"(?i)\b(?:curl|wget)\s[^|\n]+\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|chmod\s+\+x\s[^\n]+&&\s*\./"
        r"|(?:exec|eval)\((?:open|base64|__import__|compile|requests|urllib|input)\b",
    ),
    Trigger(
        "payload/script",
        PAYLOAD_INJECTION,
        MEDIUM,
        "a script that runs where it is shown",
        r"(?i)<script[^<>]*>[^<]*(?:document\.cookie|eval\(|alert\()|\bonerror\s*=\s*[\"']?(?:alert|fetch|eval"
        r"|document\."
        r"|window\.|javascript:)|\bjavascript:(?:alert|eval|fetch|document\.cookie)",
    ),
    Trigger(
        "payload/sql",
        PAYLOAD_INJECTION,
        MEDIUM,
        "a query broken out of",
        r"(?i)['\")]\s*;\s*(?:drop|truncate|alter)\s+table\b|['\")]\s*(?:or|and)\s+['\"]?1['\"]?\s*=\s*['\"]?1"
        r"|\bunion\s+(?:all\s+)?select\s[^\n]*\bfrom\s+(?:users|information_schema|pg_|sqlite_master|mysql\.)",
    ),
    Trigger(
        "payload/template",
        PAYLOAD_INJECTION,
        MEDIUM,
        "a template or an interpreter broken into",
        r"\{\{\s*(?:7\s*\*\s*'?7|config\.__|self\.__|request\.application|''\.__class__|[\w.]*__class__)"
        r"|__import__\(\s*['\"](?:os|subprocess|socket)|\$\{jndi:",
    ),
)
