"""What a phrase is that gives an injection away: its category, of nine, and its weight.

A weight is evidence in nats (log-odds): by itself, one of ``STRONG`` makes a text an injection, one of ``MEDIUM``
suspicious; ``LIGHT`` and ``WEAK`` ones count beside others only.
"""

from __future__ import annotations

from typing import NamedTuple

CATEGORIES = (
    SYSTEM_OVERRIDE,
    CONTEXT_EXFILTRATION,
    TOOL_ABUSE,
    INSTRUCTION_MANIPULATION,
    DELIMITER_ATTACK,
    ENCODING_BYPASS,
    MULTI_TURN_ATTACK,
    INDIRECT_INJECTION,
    PAYLOAD_INJECTION,
) = (
    "system override",
    "context exfiltration",
    "tool/function abuse",
    "instruction manipulation",
    "delimiter attack",
    "encoding bypass",
    "multi-turn attack",
    "indirect injection",
    "payload injection",
)
STRONG, MEDIUM, LIGHT, WEAK = 6.0, 4.0, 3.0, 2.0


class Trigger(NamedTuple):
    """A phrase: its name, its category, what it weighs in nats, why it counts, and its pattern for re2."""

    name: str
    category: str
    weight: float
    detail: str
    regex: str


# --- injection_commands ---
# Phrases that command the model: another master, its secrets, its tools, its manner of answering. In English.
#
# Gaps are a few words, so that the automaton stays small.


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


# --- injection_guises ---
# Phrases by which data passes for more: a role, a code, a later turn, a letter to the model, a program. In English.
#
# Gaps are a few words, so that the automaton stays small.


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


# --- injection_languages ---
# The phrases that give an injection away in other languages than English.
#
# Three of each language: earlier instructions dropped, the system prompt asked for, the user kept in the dark.


_W = r"(?:\s+\S+){0,4}\s+"  # at most four words between
_W0 = r"(?:\s*\S+){0,3}\s*"  # at most three, where an article may be joined to its noun
_C = r"[^\n.!?。\x{ff01}\x{ff1f}]{0,12}"  # a few characters between, where words are not set apart

# Language: dropping earlier instructions; asking for the system prompt; keeping something from the user.
_PHRASES = {
    "German": (
        r"(?:ignorier\S*|vergiss|vergessen sie|missacht\S+|übergeh\S*|uebergeh\S*|beachte\S* nicht|verwirf"
        rf"|verwerfe\S*){_W}"
        r"(?:anweisung|instruktion|vorgabe|regel|befehl|prompt|richtlinie)",
        rf"(?:zeig\S*|nenn\S*|verrat\S*|gib|geben sie|wiederhol\S*|drucke\S*|offenbar\S*){_W}(?:system-?\s?prompt\S*"
        r"|systemanweisung\S*|systemnachricht\S*"
        r"|anfangsanweisung\S*)",
        rf"ohne{_W}(?:be)?nutzer\S*{_W}(?:sagen|informieren|mitzuteilen|erwähnen|fragen)"
        r"|(?:be)?nutzern? nichts (?:sagen|davon|verraten)"
        rf"|(?:sag|verrat|teile)\S*{_W}(?:be)?nutzern?{_W}nicht",
    ),
    "French": (
        r"(?:ignore[zr]?|oublie[zr]?|n[ée]glige[zr]?|ne (?:tiens|tenez) pas compte|ne (?:suis|suivez) (?:pas|plus)"
        r"|fais abstraction|faites abstraction)"
        rf"(?:\s+de| [àa])?\s+(?:l.|les|aux|toutes?|tous|tes|vos|ces|mes|des|cette|la|le){_W0}(?:instructions?"
        r"|consignes?|directives?|r[èe]gles|ordres|messages? (?:pr[ée]c|ant[ée]r))",
        rf"(?:r[ée]v[èe]le[zr]?|affiche[zr]?|montre[zr]?|donne[zr]?|r[ée]p[èe]te[zr]?|divulgue[zr]?){_W}(?:prompt"
        r"|invite|message|instructions?) (?:du |de )?syst[èe]me",
        rf"(?:sans{_W}(?:informer|pr[ée]venir|avertir|dire|pr[ée]ciser){_W}utilisat|(?:ne (?:dis|dites|pr[ée]viens"
        rf"|informe[zs]?)){_W}(?:l.|à l.|de l.)?utilisat"
        r"|sans (?:informer|pr[ée]venir|avertir) l.utilisat)",
    ),
    "Spanish": (
        r"(?:ignor[ae]r?|olvid[ae]r?|descart[ae]r?|haz caso omiso|hagas? caso omiso|no (?:sigas|hagas caso)"
        rf"|pas[ae] por alto|omit[ae]r?){_W}"
        r"(?:instrucci[oó]n|indicaci[oó]n|[oó]rdenes|reglas|directrices|mensajes? anterior|prompts?)",
        rf"(?:revel[ae]r?|muestr[ae]|mostrar|imprim[ae]|dime|dame|repit[ae]|divulg[ae]){_W}(?:prompt|mensaje"
        r"|instrucciones|indicaciones) (?:del |de )?sistema",
        rf"(?:sin{_W}(?:informar|avisar|decir|decirle|notificar|mencionar|preguntar)(?:lo|le)?{_W}usuario"
        r"|no (?:le )?(?:digas|informes|avises|menciones|cuentes)"
        r"[^\n.]{0,30}usuario)",
    ),
    "Italian": (
        rf"(?:ignora\S*|dimentica\S*|trascura\S*|tralascia\S*|non (?:seguire|considerare)|non tenere conto){_W}"
        r"(?:istruzion|indicazion|regole|direttiv|ordini|messaggi? precedent|prompt)",
        rf"(?:rivela\S*|mostra\S*|stampa\S*|dimmi|dammi|ripeti|divulga\S*){_W}(?:prompt|messaggio|istruzioni) (?:del "
        r"|di )?sistema",
        r"senza (?:informare|avvisare|avvertire|dire|dirlo|notificare)[^\n.]{0,20}utente|non (?:dire|dirlo|informare"
        r"|avvisare|menzionare)[^\n.]{0,30}utente",
    ),
    "Portuguese": (
        rf"(?:ignor[ea]\S*|esque[cç]a\S*|desconsider[ea]\S*|desprez[ea]\S*|n[ãa]o siga\S*){_W}(?:instru[cç][õoã]"
        r"|orienta[cç]|regras|diretrizes|ordens|comandos|prompts?)",
        rf"(?:revel[ea]\S*|mostr[ea]\S*|imprim\S*|diga|repita|divulgu?e\S*){_W}(?:prompt|mensagem"
        r"|instru[cç][õo]es) (?:do |de )?sistema",
        r"sem (?:informar|avisar|dizer|notificar|mencionar|perguntar)[^\n.]{0,20}usu[áa]rio|n[ãa]o (?:diga|informe"
        r"|avise|mencione|conte)[^\n.]{0,30}usu[áa]rio",
    ),
    "Dutch": (
        rf"(?:negeer|negeren|vergeet|sla{_W}over|volg{_W}niet|let niet op){_W}(?:instructie|opdracht|aanwijzing|regels"
        r"|richtlijn|prompt|bevel)",
        rf"(?:toon|onthul|geef|herhaal|laat|verklap){_W}(?:systeem-?\s?prompt|systeeminstructie|systeembericht"
        r"|systeemopdracht)",
        r"zonder (?:de |het )?(?:aan )?(?:de )?gebruiker[^\n.]{0,20}(?:vertellen|informeren|melden|laten weten|vragen)"
        r"|(?:vertel|zeg|meld)[^\n.]{0,20}gebruiker (?:niets|niet)",
    ),
    "Russian": (
        r"(?:игнорир\S*|проигнорируй\S*|забудь\S*|не обращай\S* внимания|отбрось\S*|не следуй\S*"
        r"|пренебрег\S*)(?:\s+[^\s]+){0,4}\s+(?:инструкц|указани|команд|правил|промпт"
        r"|распоряжени|директив)",
        rf"(?:покажи|раскрой|выведи|повтори|сообщи|назови)\S*{_W}системн\S+ (?:промпт|сообщени|инструкц|подсказк)"
        r"|(?:покажи|раскрой|выведи|повтори)\S* системн\S+ (?:промпт|сообщени|инструкц|подсказк)",
        r"не (?:говори|сообщай|рассказывай|упоминай)[^\n.]{0,30}пользовател|(?:без ведома|втайне от|не сообщая"
        r"|не говоря)[^\n.]{0,15}пользовател",
    ),
    "Chinese": (
        rf"(?:忽略|无视|忘记|忘掉|不要理会|不要遵守|請忽略|無視|忘記|不管){_C}(?:指令|指示|提示|规则|規則|要求|命令|说明|說明|内容)",
        rf"(?:显示|輸出|输出|透露|告诉我|告訴我|重复|泄露|打印|展示){_C}(?:系统提示|系統提示|系统指令|系統指令|初始指令|系统消息)",
        r"(?:不要|别|不得|勿|無需|无需)(?:告诉|告知|通知|提醒|让|告訴)用户?[^\n。]{0,6}",
    ),
    "Japanese": (
        rf"(?:指示|命令|プロンプト|ルール|指令|規則|制約){_C}(?:無視|忘れ|従わない|破棄|無効)",
        rf"(?:システム\s?プロンプト|システムメッセージ|初期指示|システム指示){_C}(?:表示|教え|出力|公開|見せ|開示|繰り返)",
        rf"(?:ユーザー?|利用者){_C}(?:知らせず|伝えず|言わず|教えず|知らせない|伝えない|言わない|教えない|内緒)",
    ),
    "Korean": (
        rf"(?:지시|명령|프롬프트|규칙|지침|안내){_C}(?:무시|잊어|따르지|잊으)",
        rf"(?:시스템\s?(?:프롬프트|메시지|지시|명령)){_C}(?:보여|출력|알려|공개|말해|표시|반복)",
        rf"(?:사용자|유저){_C}(?:알리지|말하지|모르게|몰래|통보하지)",
    ),
    "Arabic": (
        r"(?:تجاهل|انس|إنس|أهمل|لا تتبع|تجاوز)\S*(?:\s+\S+){0,3}\s+\S*(?:التعليمات|تعليمات|الأوامر|أوامر|التوجيهات"
        r"|القواعد|الإرشادات|الموجه)",
        r"(?:اعرض|أظهر|اكشف|اطبع|كرر|أخبرني)\S*(?:\s+\S+){0,3}\s+\S*(?:موجه النظام|تعليمات النظام|رسالة النظام"
        r"|مطالبة النظام)",
        r"(?:لا تخبر|دون إخبار|بدون إخبار|دون علم|بدون علم|لا تذكر)(?:\s+\S+){0,2}\s*\S*المستخدم",
    ),
    "Hindi": (
        r"(?:निर्देश|आदेश|नियम|अनुदेश|प्रॉम्प्ट)\S*(?:\s+\S+){0,3}\s+(?:अनदेखा|नज़रअंदाज|नजरअंदाज|भूल|उपेक्षा|अनदेखी"
        r"|इग्नोर|न मान)",
        r"सिस्टम\s+(?:प्रॉम्प्ट|संदेश|निर्देश)\S*(?:\s+\S+){0,3}\s+(?:दिखा|बता|प्रकट|दोहरा|प्रिंट)",
        r"(?:उपयोगकर्ता|यूज़र|यूजर)\s+को(?:\s+\S+){0,3}\s+(?:मत बता|न बता|बताए बिना|बिना बताए|सूचित न|पता न)",
    ),
}
_LATIN = {"German", "French", "Spanish", "Italian", "Portuguese", "Dutch"}
_MEANING = (
    ("override", SYSTEM_OVERRIDE, "tells to drop earlier instructions"),
    ("exfiltration", CONTEXT_EXFILTRATION, "asks for the system prompt"),
    ("manipulation", INSTRUCTION_MANIPULATION, "wants something kept from the user"),
)

LANGUAGES = tuple(
    Trigger(
        f"{topic}/{language}",
        category,
        STRONG,
        f"{detail}, in {language}",
        rf"(?i)\b(?:{regex})" if language in _LATIN else f"(?i){regex}",
    )
    for language, phrases in _PHRASES.items()
    for (topic, category, detail), regex in zip(_MEANING, phrases, strict=True)
)
