"""What was tried for the goals that are missed, and what the data shows to be the limit.

Written by hand, for the measured tables beside it: it names no figure that a run may change.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["FINDINGS", "SOURCES"]

SOURCES = (
    "Choices of design were made while looking at agentdojo, taubench and la3d_rlm, at the demo's own faults, and at "
    "the generated families and faults that are not held out. The weights of the signals are learned on all recorded "
    "sources but the pairs and the attacks; what such weights do on a source that they were not learned from stands "
    "under Weights. The pairs and what is held out were looked at only to notice mistakes. Recorded results are few: "
    "on agentdojo, two or three genuine rows set the posterior that one in a hundred exceeds. How changes that last "
    "are held was chosen while looking at all recorded sources and at what is not held out of the generated ones: only "
    "the held-out families and faults are independent."
)

FINDINGS: Sequence[tuple[str, str]] = (
    (
        "Genuine calls flagged or blocked",
        "What is left on agentdojo are answers that changed because the user changed something in between, by "
        "another tool; on toolbench and swe_agent, tools with 20 to 60 calls that answer in prose for the first "
        "time, or whose results really are cut off now and then. Most of taubench is one genuine change, a tool that "
        "answers for another shop from some call on, which the engine flags for a while and then follows. "
        "Bounding all flags by the conformal p-value as blocks are brings them down, and hides a run of bad results "
        "behind its own threshold: not done.",
    ),
    (
        "The default, with nobody reviewing",
        "A field that is dropped with nothing in its place is as often a new version as a fault: to hold it longer "
        "holds genuine changes as long. Of the everyday tools, records of a kind that came late and counters that "
        "begin anew each month take most of the flags. On sources that were only reported, single faults are hidden "
        "behind genuine calls of one tool that break a relation now and then; a rare break must not become a mode, "
        "since one wrong record in twenty would become one too. Weights learned on what the engine sees when nobody "
        "reviews, and weights drawn towards 1, were no better on the sources that are chosen on. More or less doubt "
        "moves all rows together: see the curve.",
    ),
    (
        "Faults that stay",
        "What is not held was not seen at first: a placeholder in a tool that answers in free words, a price a "
        "hundred times too high among a dozen prices, a null where the list is empty as often as not. A label can "
        "act on nothing that was never odd. Learning nothing until two ordinary calls in a row gave nearly all of "
        "what is held, and doubled the flags; names of what is odd, by which calls are told apart, took them back. "
        "Taking every doubtful call for one of a known change held a little more, and cost more flags than that.",
    ),
    (
        "After a fault that stayed",
        "Nothing is learned while it lasts, so a tool whose numbers follow the time of day (diurnal_latency) is held "
        "to levels of half a day ago when it comes right again. A tool whose form evolves (evolving) is flagged for "
        "a few calls after each change, with and without a fault.",
    ),
    (
        "swapped_tool",
        "The misses are tools with no history, or with a history of errors and empty answers only. Another tool's "
        "form is told from the forms that all tools share where the other tool is known; on taubench most misses come "
        "after the one change there; a rate of arguments that "
        "come back over all tools was tried for those that are not, and needs more tools than any one source has.",
    ),
    (
        "swapped_args",
        "Found where results repeat an argument, or where the arguments have a history. On bfcl half of the rows are "
        "neither (a listing, a file's text): nothing in such a result says whose it is.",
    ),
    (
        "stale",
        "An old answer of the same call is told by a clock in it that goes back, by a record that had been "
        "replaced, or, within a session, by a call in between that nearly always changes it. Without sessions, as "
        "the recorded rows are asked, most have none of the three. Part of what earlier versions found there were "
        "the marks that agents set results off with (a third of the agentdojo rows differ in nothing else), which "
        "are read over now. A majority vote on answers and a fixed ratio for replaced ones raised false alarms more"
        " than recall.",
    ),
    (
        "A model pretending to be the tool",
        "No pair's tool has a history, and the engine has nothing to compare with: near chance, as every engine "
        "without a model. Reported as it is and not tuned.",
    ),
    (
        "Answers within a millisecond",
        "The tools of la3d take a millisecond or two by themselves, the goal is set for tools that take a hundred; "
        "the generated ones are such tools.",
    ),
    (
        "Bad history",
        "What a tool repeats in a tenth of its calls, between ordinary ones, is, to anyone without labels, a thing "
        "that it does: the ranking holds, and the bound on false blocks rightly gives way. Declared rules and "
        "labelled calls are not moved by it. More faults assumed in the past, and p-values with atoms were tried, and "
        "cost more genuine calls than they gained.",
    ),
    (
        "invented, scaled, unit_changed",
        "A plausible value in a known form is in no way unusual for its tool; it is told only where the same "
        "arguments have answered before. A tail fitted to each number gained two points and doubled the flags on "
        "genuine resets and on heavy tails.",
    ),
    (
        "Calibration",
        "About half of the error is in posteriors above .9, where most of the genuine calls belong to a change of "
        "the tool that lasts; most of the rest is in those below .2, which are somewhat too "
        "high. To shrink all evidence beyond a few nats made the error smaller by a sixth, and ranked nothing better.",
    ),
    (
        "Speed",
        "The engine updates statistics on every call that the peer does not have: a chart of each number, relations "
        "between fields, and sessions. The engine computes once what all results of one "
        "form share. The rest of a 1 KB call is spread over reading, a dozen learned checks, learning, sessions, the "
        "sum and the records; no function stands out. Caching arguments by their key would flatter the benchmark and "
        "keep content. Writing the JSON is the largest part of a 50 KB call, and the floor writes it too; 50 KB of "
        "text is also parsed.",
    ),
    (
        "Memory",
        "Text and objects with several hundred fields keep their names and formats beside the 100 argument keys that "
        "fill most tools' share; hostile results, no two of which share a key, are bounded at a higher figure.",
    ),
    (
        "Replay, learn, report",
        "Here one process; the time is that of `verify`, and reading a call takes a fifth of it. docs/scale.md has the "
        "times of several processes, Spark, `learn` and `report` for 200,000 calls. The last two judge nearly every "
        "call once; their own work (counts of values and pairs, the calls that answers are compared with) is the "
        "smaller part, so their goals depend on `verify`, too.",
    ),
    (
        "Claims of action",
        "What is missed needs to know what words mean: a claim in other words than its tool's, a tool that does "
        "whatever its arguments say in a language of their own (code, requests), an object that only the session "
        "names. Signs weighed in log-odds keep what they promise better than rules do: rules that found three "
        "quarters of what they were made with found half on other tools, and accused a quarter of what was true. What "
        "decides outright is right far more often on turns that were worked on than on those that nobody had read. So "
        "it is weighed: each decision has a weight that it shares with all and one of "
        "its own, and the other signs count half beside it. On turns that nobody had read this found more at each "
        "share of honest turns accused than decisions that nothing speaks against, though on those that were worked "
        "on it found less. Trees, forests and products of signs rank worse than the sum. Half of all gains came from "
        "honest claims that were read wrongly, for they set the limit; each such mend takes few accusations away "
        "elsewhere, since the next turns say it in yet other ways.",
    ),
    (
        "A fresh clone",
        "CPU seconds are what a suite can promise: the same tests take twice as long on a day when the neighbours on "
        "the same processors are busy. `make` unsets `PYTHONDONTWRITEBYTECODE`, which makes each of hundreds of test "
        "processes compile everything that it imports. Collected tests are frozen out of garbage collection; one "
        "Elasticsearch, one Spark, one site and one wheel serve all tests that need them; a table of cases is walked "
        "inside one test. The dearest tests left start a server, a browser or Java.",
    ),
    (
        "The guard in the loop, clean runs",
        "The few clean tasks that are lost are lost by flags: a word that a command's output never had, numbers at the "
        "edge of their level. An agent that is told to ask again, and gives up, loses the task; one that believes "
        "annotated results all the same would lose none.",
    ),
    (
        "Injected instructions, names of tools told",
        "Told the names of tools, the detector takes a request for one of them in a result as an instruction; the "
        "genuine results that are flagged then speak of what such a tool does. Without the names none is. The attacks "
        "of the design rows and of the held-out rows come from the same templates: with a whole source left out of "
        "the fit, recall without trigger phrases fell to half on the strangest source. Manuals and READMEs, which are "
        "written in the imperative, are flagged more often than results of tools.",
    ),
    (
        "Personal data, recogniser tests",
        "One to thirteen texts a kind. Most of what counts against the detectors is in the labels: second matches "
        "that are not labelled, numbers labelled valid whose check digit is wrong, five countries' passports as one "
        "kind. Missed indeed are an IPv6 address with its zone, numbers glued to words, bare licence numbers.",
    ),
    (
        "english_capital of the instruction rules",
        "The reference asks a language detector that draws lots, about words in capitals; its answer changes with "
        "the lot. More draws, and lower case first, agreed less.",
    ),
    (
        "JSON that models broke, exact value",
        "The expected values are trimmed at the ends of texts, and ours keep what stood there; but for blanks the "
        "goal is reached.",
    ),
    (
        "Hallucination risk",
        "Close to chance on labelled answers: of the document's four signals only new names carry any, and true "
        "answers have new names too. It is there because it was asked for, and says what it is.",
    ),
    (
        "Claims against summarised documents",
        "What is false there differs from what is true by a word or two, and what is true is told in other words: to "
        "tell the two apart takes knowing which words mean the same. The judge knows the synonyms that it was given, "
        "and its list was written with the documents in view that are not held out; in the others it takes true "
        "retellings for unsupported, most of all where a dialogue is retold. A model as judge is what the gate has "
        "for such claims.",
    ),
    (
        "Planted errors",
        "On the two sets that nobody had written rules for when they were measured last, nine in ten true claims in"
        " wholly other words are held, and at most one in ten errors of a kind is missed; on the three before them "
        "it was four in five and up to one in five. Each of those has shown a plain hole: a word that both denies "
        "and is an opposite was counted twice, a list's second denial was lost, exceptions were read as conditions,"
        " areas as bare numbers. Words that are near one another raised what is held from 72 to 79%; ten times as "
        "many raised it no further. What is left takes an inference from sentence to sentence.",
    ),
    (
        "Texts by somebody who knew nothing of the detector",
        "The honest ones were made to be taken for attacks (interface texts, exercises about prompts, notes to "
        "assistants), the injected ones to be taken for data. Weighing a few sentences together found a fifth more of "
        "the attacks of the half that nobody had looked at. On the half that was worked on no honest text is flagged "
        "any more; on the other one in ten still is: what was mended there were kinds of text, of which the next set "
        "has others.",
    ),
    (
        "A tool call in LangGraph",
        "Nearly all of the added time is `verify`. It takes longer there than in a loop, because LangChain's code runs "
        "between two calls and pushes the engine's data out of the processor's caches. LangChain inspects the "
        "signatures of a tool and its function on every call; the guard does so once, and that time is subtracted. "
        "`invoke` starts a thread for each call and waits for it. Sharing one watched tool between calls would save a "
        "microsecond or two and lose the calls that a wrapper makes in a thread of its own.",
    ),
)
