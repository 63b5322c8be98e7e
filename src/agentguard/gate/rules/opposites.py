"""Words that exclude one another where they are said of one thing; general English, written for this project.

Between slashes stands a pair of sides, parted by a bar: each word of one side excludes each of the other.
"""

from __future__ import annotations

from typing import Final

from agentguard.gate.rules.roots import root

__all__ = ["opposites_of"]

_PAIRS: Final = """
increase rise grow climb raise gain expand up upward higher surge |
decrease decline fall drop reduce cut lower shrink down downward slump /
more | less fewer / most | least fewest / maximum | minimum / above over exceeding | below under /
before prior earlier | after later following / first | last / early | late later /
begin start open commence launch | end finish close stop conclude terminate /
accept agree approve | reject refuse decline disagree deny disapprove /
allow permit enable let | forbid prohibit ban prevent disallow block deny /
allowed permitted | forbidden prohibited banned disallowed / include | exclude / with | without / always | never /
all every each | no none / everyone everybody | nobody / everything | nothing /
required mandatory compulsory obligatory | optional voluntary / possible | impossible / able | unable /
available | unavailable / valid | invalid / legal lawful | illegal unlawful / eligible | ineligible /
refundable | non-refundable nonrefundable / enabled enable | disabled disable / on | off / open | closed /
public | private / free | paid / internal | external / inside | outside / indoor | outdoor / import | export /
upload | download / encrypt | decrypt / encrypted | unencrypted / safe secure | unsafe insecure dangerous /
guilty | innocent / convict | acquit / arrest detain | release free / win | lose / winner | loser / victory | defeat /
success succeed | failure fail / successful | unsuccessful failed / support endorse back | oppose /
supporter | opponent / friend ally | enemy rival / love adore like | hate despise dislike /
praise commend | criticize condemn / happy glad | sad unhappy / happiness joy | sadness sorrow /
optimistic | pessimistic / positive | negative / good great excellent | bad poor terrible / better | worse /
best | worst / big large huge great massive | small little tiny minor / long tall | short / high | low /
highest | lowest / wide | narrow / thick | thin / heavy | light / strong | weak / rich wealthy | poor /
fast quick rapid | slow / hot warm | cold cool / warmer | colder / new modern | old ancient outdated /
young | old elderly / easy simple | hard difficult complex /
cheap inexpensive affordable cost-effective | expensive costly /
true correct right accurate | false wrong incorrect inaccurate / same similar | different / present | absent /
alive | dead / live | die / male man boy | female woman girl / husband | wife / father dad | mother mom /
brother | sister / son | daughter / uncle | aunt / nephew | niece / actor | actress / buy purchase | sell /
lend | borrow / send | receive / give | take / arrive come | leave depart / enter join | exit leave / push | pull /
remember | forget / find save | lose / save earn | spend waste / create build | destroy demolish /
add | remove subtract / attach | detach / attack | defend / protect | expose / improve enhance | worsen /
strengthen | weaken / tighten | loosen ease / encourage | discourage / trust | distrust / honest | dishonest /
confirm admit | deny / reveal disclose | hide conceal / known famous | unknown / common | rare /
often frequently | rarely seldom / quiet | loud / full | empty / whole | partial / clean | dirty / wet | dry /
north northern | south southern / east eastern | west western / left | right / top | bottom / front | back /
day | night / morning | evening afternoon / today | tomorrow yesterday / tomorrow | yesterday / weekday | weekend /
daily | weekly monthly / weekly | monthly / monthly | annual yearly annually quarterly / summer | winter /
spring | autumn / domestic local | international foreign / temporary | permanent / voluntary | forced /
automatic automatically | manual manually / major | minor / majority | minority / senior | junior /
former ex | current / profit surplus | loss deficit / asset | liability / demand | supply /
employ hire | fire dismiss / employed | unemployed / teacher | student / doctor | patient / buyer | seller /
landlord | tenant / peace | war / calm | panic / hope | despair / confident | doubtful /
thriving flourishing prosperous | struggling troubled failing / reliable | unreliable / efficient | inefficient /
effective | ineffective / interesting exciting | boring dull / delicious | disgusting / beautiful | ugly /
kind | cruel / healthy | unhealthy sick / married | single divorced / alone | together /
advanced cutting-edge innovative | basic outdated / individual | group / online | offline in-store /
digital | physical / wireless | wired
"""


def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in filter(str.strip, _PAIRS.split("/")):
        one, two = ({root(word) for word in side.split()} for side in line.split("|"))
        for here, there in ((one, two), (two, one)):
            for each in here:
                found.setdefault(each, set()).update(there - here)
    return {word: frozenset(others) for word, others in found.items()}


_OPPOSITES: Final = _opposites()
_NONE: Final[frozenset[str]] = frozenset()


def opposites_of(one: str) -> frozenset[str]:
    """The roots that exclude a root.

    >>> root("optional") in opposites_of(root("required")), opposites_of("zebra")
    (True, frozenset())
    """
    return _OPPOSITES.get(one, _NONE)
