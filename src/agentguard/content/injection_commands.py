"""Phrases that command the model: another master, its secrets, its tools, its manner of answering. In English.

Gaps are a few words, so that the automaton stays small.
"""

from __future__ import annotations

from agentguard.content.injection_triggers import (
    CONTEXT_EXFILTRATION,
    INSTRUCTION_MANIPULATION,
    LIGHT,
    MEDIUM,
    STRONG,
    SYSTEM_OVERRIDE,
    TOOL_ABUSE,
    Trigger,
)

__all__ = ["COMMANDS"]

_TO = r"(?:[^\w.;=!?]+\w+){0,3}[^\w.;=!?]+"  # at most three words between
_ON = r"(?:[^\w.;=!?]+\w+){0,5}[^\w.;=!?]+"  # at most five
_DROP = (
    r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass|neglect|discard|overlook|abandon"
    r"|(?:do not|don'?t|stop|no longer) (?:follow|obey|listen to|adhere to|comply with)(?:ing)?|pay no (?:attention"
    r"|heed) to)"
)
_EARLIER = (
    r"(?:previous|prior|above|earlier|preceding|former|original|initial|foregoing|existing|system|developer|safety"
    r"|your|all)"
)
_ORDERS = (
    r"(?:instructions?|prompts?|rules|directions|directives?|commands?|guidelines|guidance|constraints|restrictions"
    r"|policies|programming|training|safeguards|orders)\b"
)
_HIDDEN = r"(?:system|initial|hidden|original|developer|secret|internal|pre-?loaded|starting|full|entire)"
_SECRETS = (
    r"(?:api[ _-]?keys?|passwords?|credentials|secrets?|access tokens?|private keys?|environment variables|chat history"
    r"|conversation(?: history)?|message history|session (?:data|token|cookie)s?|cookies|system prompt)"
)
_REPLY = r"(?:response|answer|reply|output|responses|answers|replies|message to the user|summary|completion)"


COMMANDS = (
    # --- System override: who commands, and by what rules ---
    Trigger(
        "override/earlier",
        SYSTEM_OVERRIDE,
        STRONG,
        "tells to drop earlier instructions",
        rf"(?i){_DROP}{_TO}{_EARLIER}(?:[^\w.;=!?]+\w+){{0,2}}[^\w.;=!?]+{_ORDERS}",
    ),
    Trigger(
        "override/above",
        SYSTEM_OVERRIDE,
        STRONG,
        "tells to drop what stands above",
        r"(?i)\b(?:ignore|disregard|forget)\s+(?:about\s+)?(?:everything|anything|all(?: of)?(?: the| that)?(?: text"
        r"| content)?)"
        r"\s+(?:above|before|prior|previously|you|I|that (?:came|was)|said|so far|until now)",
    ),
    Trigger(
        "override/glued",
        SYSTEM_OVERRIDE,
        STRONG,
        "tells to drop earlier instructions",
        r"(?i)(?:ignore|disregard|forget|override)(?:all|the|any|my|your|these|those|of){0,3}"
        r"(?:previous|prior|above|earlier|system)(?:instructions|rules|prompt|guidelines)",
    ),
    Trigger(
        "override/task",
        SYSTEM_OVERRIDE,
        MEDIUM,
        "tells to drop the task at hand",
        rf"(?i){_DROP}\s+(?:all |the |your |my |any |of )*(?:user'?s |original |current |previous |earlier |other )"
        r"(?:task|request|question|query|goal|objective|conversation|prompt|input)s?\b",
    ),
    Trigger(
        "override/new orders",
        SYSTEM_OVERRIDE,
        MEDIUM,
        "announces new instructions",
        r"(?i)\b(?:new|updated|revised|real|actual|important|urgent|special|additional|further) (?:system )?"
        r"(?:instructions?|directives?|prompt|orders)(?: for you| to you| follows?| below)?\s*[:>\n]",
    ),
    Trigger(
        "override/role",
        SYSTEM_OVERRIDE,
        LIGHT,
        "gives the assistant another role",
        r"(?i)\b(?:you are now|you're now|from now on,? you(?:'re| are| will| must| shall| have to)|henceforth,? you"
        r"|starting now,? you|your new (?:role|task|goal|identity|persona|objective|mission|instructions?) (?:is"
        r"|are))\b",
    ),
    Trigger(
        "override/unbound",
        SYSTEM_OVERRIDE,
        STRONG,
        "calls for a mode without rules",
        r"(?i)\b(?:DAN mode|do anything now|jailbreak(?:ed)? mode|god mode|(?:enable|enter|activate|switch to"
        r"|you are in) "
        r"(?:developer|debug|admin(?:istrator)?|maintenance|unrestricted|jailbreak|root|sudo|dan)[ _-]mode"
        r"|(?:act|respond|answer|reply|operate|behave)(?: \w+){0,4} (?:without (?:any )?(?:restriction|filter|limit"
        r"|censor|safety|rule)"
        r"|unfiltered|uncensored|with no (?:restriction|filter|limit|rule|censor)))",
    ),
    Trigger(
        "override/authority",
        SYSTEM_OVERRIDE,
        MEDIUM,
        "claims authority over the assistant",
        r"(?i)\b(?:system|admin(?:istrator)?|root|developer|security) (?:override|instruction|directive|command"
        r"|notice to (?:the )?"
        r"(?:assistant|AI|agent|model))s?\s*[:\]>!]",
    ),
    # --- Context exfiltration: what the model knows, carried out ---
    Trigger(
        "exfiltration/prompt",
        CONTEXT_EXFILTRATION,
        STRONG,
        "asks for the system prompt",
        r"(?i)\b(?:reveal|show|print|output|repeat|display|leak|dump|expose|recite|tell (?:me|us)|give (?:me|us)|share"
        r"|send|disclose"
        rf"|write out|copy|summari[sz]e|state){_TO}(?:your |the |its )(?:{_HIDDEN} )?(?:{_HIDDEN} |own )"
        r"(?:prompts?|instructions?|messages?|context|configuration|rules|directives)\b",
    ),
    Trigger(
        "exfiltration/above",
        CONTEXT_EXFILTRATION,
        STRONG,
        "asks for the text above",
        r"(?i)\b(?:repeat|print|output|recite|echo|copy|write(?: out)?|reproduce)\s+(?:back\s+)?(?:everything|all"
        r"|the (?:text|words|content|"
        r"lines|sentences))(?: of)?(?: the)?(?: text| words| content)?(?: that (?:is|was|came))? (?:above|before this"
        r"|so far|preceding)",
    ),
    Trigger(
        "exfiltration/what",
        CONTEXT_EXFILTRATION,
        MEDIUM,
        "asks what the instructions are",
        rf"(?i)\bwhat (?:is|are|was|were) your (?:{_HIDDEN}|exact) (?:prompt|instructions?|message|rules|guidelines)",
    ),
    Trigger(
        "exfiltration/secrets",
        CONTEXT_EXFILTRATION,
        MEDIUM,
        "has secrets or the conversation sent away",
        r"(?i)\b(?:send|forward|post|upload|e-?mail|transmit|exfiltrate|leak|submit|append|encode"
        rf"|deliver){_ON}{_SECRETS}{_ON}"
        r"(?:to|at|via|into|in)\s",
    ),
    Trigger(
        "exfiltration/image",
        CONTEXT_EXFILTRATION,
        STRONG,
        "an image whose address carries data out",
        r"(?i)!\[[^\]\n]*\]\(\s*<?https?://[^)\s]+[?&/=](?:\{|\[|<|%7B|\$|(?:data|q|secret|token|key|prompt"
        r"|history|"
        r"chat|conversation|msg|content|exfil|leak|info|payload|context|summary|s|d|x)=)",
    ),
    # --- Tool and function abuse ---
    Trigger(
        "tool/call",
        TOOL_ABUSE,
        MEDIUM,
        "has a tool called",
        r"(?i)\b(?:call|invoke|use|run|trigger|execute|launch)\s+(?:the |your |a |an )?[`'\"]?\w{2,40}[`'\"]?(?:\(\))? "
        r"(?:tool|function|plugin|api endpoint)\b(?:\W+(?:with|to|and|on|using|now|immediately|passing|for)\b|\()",
    ),
    Trigger(
        "tool/syntax",
        TOOL_ABUSE,
        MEDIUM,
        "imitates a tool call",
        r"(?i)<(?:tool_calls?|function_calls?|tool_use|invoke\s+name=|function=\w|antml:\w)|\"(?:tool_calls"
        r"|function_call)\"\s*:"
        r"|\bto=functions\.\w|\bfunctions\.\w+\(\{|<\|(?:tool|python_tag|channel)",
    ),
    Trigger(
        "tool/your tools",
        TOOL_ABUSE,
        MEDIUM,
        "turns the assistant's own tools",
        r"(?i)\b(?:use|using|invoke|call|with) (?:your|the available|any available|all available) (?:\w+ )?(?:tools?"
        r"|functions?|plugins?|"
        r"abilities|capabilities)\b(?:\W+to\b)?",
    ),
    # --- Instruction manipulation ---
    Trigger(
        "manipulation/obey",
        INSTRUCTION_MANIPULATION,
        STRONG,
        "demands that other instructions be followed",
        r"(?i)\b(?:follow|obey|execute|adhere to|comply with|carry out|prioriti[sz]e|perform)\s+(?:only |strictly "
        r"|exactly )*"
        r"(?:to )?(?:these|the following|my|this|the new|the below|the next|the) (?:new |following |secret |hidden "
        r"|special |important )*"
        r"(?:instructions?|orders|commands?|directives?)(?: instead| exactly| now| carefully| only| immediately"
        r"|\s*[:!])",
    ),
    Trigger(
        "manipulation/conceal",
        INSTRUCTION_MANIPULATION,
        STRONG,
        "wants something kept from the user",
        r"(?i)\b(?:(?:do not|don'?t|never|without)[^\w.;=!?]+(?:ever )?(?:tell|telling|inform|informing|mention"
        r"|mentioning"
        r"|notify|notifying|"
        r"alert|alerting|warn|warning|reveal|revealing|disclose|disclosing|ask|asking|let|letting|show|showing)"
        r"(?:[^\w.;=!?]+\w+){0,4}[^\w.;=!?]+(?:the |your )(?:user|human|operator|end.user|principal)s?\b"
        r"|(?:hide|conceal|keep) (?:this|it|that)(?: \w+){0,3} from (?:the |your )(?:user|human|operator))",
    ),
    Trigger(
        "manipulation/first",
        INSTRUCTION_MANIPULATION,
        STRONG,
        "puts itself before the user's task",
        r"(?i)\b(?:before|after|prior to|instead of|rather than)\s+(?:you\s+)?(?:can\s+|may\s+|do\s+|are able to\s+"
        r"|proceed\w*\s+(?:to|with)\s+)?"
        r"(?:sol[vw]\w*|complet\w+|answer\w*|perform\w*|execut\w+|finish\w*|continu\w+|respond\w* to|fulfil\w*"
        r"|help\w* with|do\w*)"
        r"(?: with| to| on)?\s+(?:the|my|your|any|this|that|their)\s+(?:user'?s?\s+|original\s+|initial\s+|main\s+"
        r"|actual\s+|current\s+|first\s+)*"
        r"(?:task|question|request|query|goal|instructions?|objective|assignment)s?\b",
    ),
    Trigger(
        "manipulation/the task",
        INSTRUCTION_MANIPULATION,
        MEDIUM,
        "speaks of the task that the assistant has",
        r"(?i)\bthe (?:\w+ )?(?:task|question|request|instructions?) (?:that |which )?(?:I|the user|we) (?:gave|asked"
        r"|assigned|have given|told|sent)"
        r"(?: to)? (?:you|it|the assistant)",
    ),
    Trigger(
        "manipulation/always",
        INSTRUCTION_MANIPULATION,
        MEDIUM,
        "dictates how to answer",
        r"(?i)\b(?:you (?:must|should|will|shall|need to|have to)|always|only|never|make sure to"
        r"|be sure to)(?: \w+){0,2} "
        r"(?:respond|reply|answer|begin|start|end|finish|conclude|finish) (?:\w+ ){0,2}(?:with|by|your|every|each|in) ",
    ),
    Trigger(
        "manipulation/each reply",
        INSTRUCTION_MANIPULATION,
        LIGHT,
        "dictates how to answer",
        r"(?i)\b(?:begin|start|end|finish|conclude|prefix|preface|append)\b(?: \w+){0,3} (?:every|each|all"
        rf"|your)(?: \w+){{0,2}} {_REPLY}\b",
    ),
    Trigger(
        "manipulation/your task",
        INSTRUCTION_MANIPULATION,
        MEDIUM,
        "redefines the task",
        r"(?i)\byour (?:only|sole|real|true|actual|primary|new|next|current|first) (?:task|job|goal|purpose|objective"
        r"|instruction|duty|priority) "
        r"(?:is|was|will be|now)\b",
    ),
    Trigger(
        "manipulation/strictly",
        INSTRUCTION_MANIPULATION,
        MEDIUM,
        "demands strict obedience",
        r"(?i)\b(?:strictly|exactly|immediately|carefully) (?:adhere to|follow|obey|execute"
        r"|comply with) (?:the following|this|these|my|every)\b",
    ),
)
