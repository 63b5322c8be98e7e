"""Words as a claim and a passage are compared by: without endings, and by the family that a word belongs to.

The root folds plural, tense and adverb (``delivers``, ``delivered``, ``delivering``); the family also folds what makes
a noun of a verb or an adjective of a noun (``delivery``). English, by rule, with a list of irregular forms.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from agentguard.content.grounding_words import plain

_IRREGULAR: Final = {
    form: base
    for line in """
    be is are was were been being am; have has had having; do does did done doing; go goes went gone going; say said
    says; make made; take took taken; get got gotten; give gave given; come came; see saw seen; know knew known; think
    thought; tell told; become became; find found; leave left; feel felt; bring brought; begin began begun; keep kept;
    hold held; write wrote written; stand stood; hear heard; mean meant; meet met; run ran running; pay paid; sit sat;
    speak spoke spoken; lie lay lain lying; lead led; grow grew grown; lose lost; fall fell fallen; send sent; build
    built; understand understood; draw drew drawn; break broke broken; spend spent; rise rose risen; drive drove driven;
    buy bought; wear wore worn; choose chose chosen; fly flew flown; sell sold; catch caught; teach taught; eat ate
    eaten; win won winning; fight fought; throw threw thrown; steal stole stolen; sing sang sung; swim swam swum; drink
    drank drunk; sleep slept; shoot shot; strike struck stricken; swear swore sworn; forget forgot forgotten; hide hid
    hidden; seek sought; shake shook shaken; ride rode ridden; bear bore borne born; blow blew blown; freeze froze
    frozen; forgive forgave forgiven; wake woke woken; show showed shown; plead pled pleaded; bind bound; deal dealt;
    dig dug; feed fed; hang hung; lend lent; shrink shrank shrunk; sink sank sunk; spread; split; stick stuck; swing
    swung; tear tore torn; weep wept; arise arose; withdraw withdrew withdrawn; man men; woman women; child children;
    person people persons; foot feet; tooth teeth; mouse mice; life lives; wife wives; half halves; self selves; leaf
    leaves; knife knives; good better best; bad worse worst; die died dies dying; tie tied tying; use used using uses;
    police policeman policemen; american americans america; british britain u.k uk; russian russia russians; german
    germany germans; french france; english england; chinese china; japanese japan; indian india; spanish spain;
    italian italy; canadian canada; australian australia; ukrainian ukraine; israeli israel; mexican mexico; turkish
    turkey; syrian syria; iranian iran; iraqi iraq; european europe; african africa; asian asia; irish ireland; scottish
    scotland; polish poland; dutch netherlands holland; swedish sweden; greek greece; brazilian brazil; us u.s usa
    u.s.a; study studies studied studying
    """.split(";")
    for base, *forms in [line.split()]
    for form in forms
}
_FAMILY_ENDINGS: Final = (
    "ization isation ational fulness iveness ation ition ment ness abl ibl anc enc ancy ency ity iv ical ial ion er or "
    "ist ism ful ous ish ur ag ery ary ory al ic y ant ent"
).split()


@lru_cache(maxsize=50_000)
def root(word: str) -> str:
    """A word without case, accents, possessive, and the endings of number, tense and manner.

    >>> [root(word) for word in ("Delivers", "shipped", "shipping", "policies", "quickly", "bought", "purchase")]
    ['deliver', 'ship', 'ship', 'policy', 'quick', 'buy', 'purchas']
    """
    folded = plain(word).replace("\u2019", "'")
    for ending in ("'s", "s'", "'"):
        if folded.endswith(ending):
            folded = folded[: -len(ending)]
            break
    folded = folded.strip("'-")
    if folded in _IRREGULAR:
        folded = _IRREGULAR[folded]
    size = len(folded)
    if size < 4 or not folded.isalpha():
        return folded
    if folded.endswith("ies") and size > 4:
        folded = folded[:-3] + "y"
    elif folded.endswith(("sses", "xes", "ches", "shes", "zes")):
        folded = folded[:-2]
    elif folded.endswith("s") and not folded.endswith(("ss", "us", "is")):
        folded = folded[:-1]
    if folded.endswith("ied") and len(folded) > 4:
        folded = folded[:-3] + "y"
    elif folded.endswith("ed") and len(folded) > 4 and any(vowel in folded[:-2] for vowel in "aeiouy"):
        folded = _undoubled(folded[:-2])
    elif folded.endswith("ing") and len(folded) > 5 and any(vowel in folded[:-3] for vowel in "aeiouy"):
        folded = _undoubled(folded[:-3])
    elif folded.endswith("ily") and len(folded) > 5:
        folded = folded[:-3] + "y"
    elif folded.endswith("ly") and len(folded) > 4:
        folded = folded[:-2]
    folded = _IRREGULAR.get(folded, folded)
    return folded[:-1] if folded.endswith("e") and len(folded) > 3 else folded


def _undoubled(word: str) -> str:
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("ll") else word


@lru_cache(maxsize=50_000)
def family(stem: str) -> str:
    """What words of one family begin with, from a word's root on; roughly, as endings tell.

    >>> family(root("delivery")) == family(root("delivers")), family(root("announcement")) == family(root("announced"))
    (True, True)
    """
    if len(stem) < 5 or not stem.isalpha():
        return stem
    for _ in range(2):
        for ending in _FAMILY_ENDINGS:
            if stem.endswith(ending) and len(stem) - len(ending) >= 4:
                stem = stem[: -len(ending)]
                break
        else:
            break
    if stem.endswith(("e", "i", "y")) and len(stem) > 4:
        stem = stem[:-1]
    if len(stem) > 4 and stem[-1] == stem[-2]:
        stem = stem[:-1]
    return stem[:-1] + "s" if stem[-1] == "d" and stem[-2] in "aeiou" else stem  # invade, invasion


# --- Generic words ---

GENERIC: Final = frozenset(
    map(
        root,
        """able accept accord act add allow also apply approach area article aspect available base become begin belong
        benefit case certain change claim come company concern concerning consider consist contain content customer day
        describe detail discuss document documentation email enable ensure example expect explain express fact feature
        find follow following form general get give go good great happen have help highlight hold include individual
        inform information introduce involve issue item keep kind know lead let like limit list look main make manage
        matter mean member mention message method name need new note number offer option order part people permit person
        place point policy possible prepare present process product program project propose provide question range reach
        receive recent regard relate report require respond response result reveal rule say section see seem seek set
        show site situation specific start state step subject suggest support system take talk tell text thing think
        time total try turn type use user value various want way week well work write year""".split(),
    )
)


# --- Opposites ---

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


# --- Synonyms ---

_CLASSES: Final = """
ask request inquire enquire query question beg invite urge / answer reply respond response /
say state tell declare announce report note remark mention claim assert add explain comment disclose reveal /
confirm verify corroborate affirm validate acknowledge / check examine inspect verify look review /
agree accept consent approve endorse / refuse decline reject deny turn dismiss / promise vow pledge commit swear /
warn caution alert / suggest propose recommend advise offer / demand insist require call /
buy purchase acquire procure obtain get fetch shop / sell market vend retail /
give provide supply offer grant deliver furnish hand present / send ship dispatch mail deliver forward transmit /
receive get obtain collect / return refund reimburse / take grab seize accept / bring carry fetch /
keep retain hold maintain preserve store save / throw toss hurl fling dump pour spill /
begin start commence launch initiate open kick / end finish conclude terminate complete close stop /
continue proceed carry persist resume remain / stop halt cease discontinue suspend pause / happen occur take /
cause lead trigger prompt result bring / help assist aid support /
support back bolster sustain prop uphold boost assistance / protect safeguard shield secure defend guard /
attack assault invade strike invasion raid offensive / kill slay murder / die perish pass death demise passing dead /
injure wound hurt harm injury injured / arrest detain apprehend capture custody /
accuse charge blame allege allegation / confess admit acknowledge / convict sentence condemn /
try attempt seek endeavor strive aim / want wish desire hope like / need require necessitate must /
let allow permit enable / prevent stop block hinder avoid bar / ban forbid prohibit bar outlaw /
use utilize employ apply usage / make create produce build construct manufacture develop / design devise plan create /
repair fix mend restore / change alter modify adjust amend revise / replace substitute swap exchange /
improve enhance upgrade better boost refine / increase rise grow climb raise boost jump surge gain expand up hike /
decrease decline fall drop reduce cut lower shrink slump down lessen /
reduce cut lower minimize lessen decrease diminish / win triumph victory victorious / lose defeat loss /
beat defeat overcome / fight battle combat struggle / fall plunge tumble drop plummet slip / run operate manage work /
lead head chair guide direct / join enter participate / leave depart quit exit go / arrive come reach /
travel journey trip voyage tour visit / visit see attend / meet encounter gather /
meeting gathering rendezvous appointment session / talk speak chat discuss converse conversation discussion /
discuss debate talk / contact reach call / call phone telephone ring / message text note /
show display demonstrate exhibit present reveal illustrate / see watch view observe look spot notice /
find discover locate detect identify / search hunt look seek / know recognize identify /
known called named dubbed nicknamed recognized referred described / think believe consider feel suppose /
decide choose opt determine / choose select pick / plan intend scheme plot aim / expect anticipate await /
hope wish look / try test / learn discover study / teach instruct train educate / train practice coach /
understand comprehend grasp / remember recall / forget overlook / love adore enjoy like / hate dislike despise /
enjoy like appreciate / worry concern fear anxious afraid worried / fear terror dread panic /
surprise shock stun astonish amaze / anger fury rage angry furious outrage mad / happy glad pleased delighted joyful /
sad unhappy upset sorrowful / excited thrilled eager enthusiastic / jealous envious envy jealousy /
tired exhausted weary / praise commend applaud laud compliment / criticize condemn denounce slam blast rebuke /
thank grateful gratitude appreciate / apologize sorry apology / invite welcome / introduce present unveil /
promote advertise market publicize tout / highlight emphasize stress underline showcase feature /
describe detail outline explain depict portray / include contain comprise feature incorporate /
consist comprise contain / benefit advantage gain perk / help benefit / advanced sophisticated modern innovative /
innovative inventive groundbreaking novel revolutionary / smart intelligent clever / efficient effective productive /
easy simple effortless straightforward / hard difficult tough challenging / fast quick rapid swift speedy /
slow gradual sluggish / big large huge great major massive enormous / small little tiny minor /
important significant crucial key vital essential critical / main chief primary principal major key /
famous renowned known celebrated popular / new recent fresh latest modern /
old former elderly aged ancient previous past / former ex previous past / current present existing ongoing /
future upcoming coming forthcoming / free complimentary gratis / cheap inexpensive affordable /
expensive costly pricey / price cost rate fee charge / fee charge cost payment /
discount reduction rebate saving deal / deal agreement contract pact accord / money cash funds /
financial economic monetary fiscal / pay compensate / income revenue earnings / profit gain earnings / debt liability /
firm company business corporation enterprise / business company enterprise venture / start-up startup company venture /
company employer firm / store shop outlet / customer client buyer shopper consumer / worker employee staff personnel /
boss manager supervisor chief head leader / founder creator originator / owner proprietor holder /
job work position post role / hire employ recruit / fire dismiss sack / resign quit step / lawyer attorney counsel /
judge magistrate justice / court tribunal / police officer cop authorities / officer official /
officials authorities government administration / law legislation statute act / rule regulation policy /
crime offense offence / criminal offender / suspect accused defendant / victim casualty / trial hearing /
guilty culpable / evidence proof / witness onlooker /
troubled struggling distressed ailing embattled beleaguered faltering / problem issue trouble difficulty /
solve resolve fix address / danger risk threat hazard peril / dangerous risky hazardous perilous /
safe secure protected / accident crash collision / fire blaze / flood deluge / storm hurricane tempest /
earthquake quake tremor / war conflict fighting / soldier troop serviceman / army military forces /
weapon arm gun firearm / bomb explosive / protest demonstration rally / protester activist demonstrator /
supporter fan backer follower / rival opponent competitor / friend pal buddy mate companion /
family relatives household / parent mother father mom dad / mother mom mum mama / father dad papa /
child kid youngster / baby infant newborn / boy lad / girl lass / wife husband spouse partner /
wed marry wedding marriage / couple pair duo / two pair both couple / woman lady female / man guy male gentleman /
people persons individuals folks / person individual someone / group team crowd band / team squad crew /
member participant / crowd throng mob / doctor physician medic / patient sufferer / illness disease sickness sick ill /
medicine drug medication / hospital clinic / school college / student pupil / teacher instructor professor /
class lesson course / test exam examination / home house residence dwelling / apartment flat /
building structure edifice / room chamber / place location spot site venue area / area region zone district /
country nation state / city town village / road street roadway avenue / car vehicle automobile /
plane aircraft jet airplane / ship boat vessel / train rail / bag luggage / clothes clothing garment / food meal /
dinner meal supper / lunch meal / eat dine consume / drink beverage / cook prepare / party celebration /
celebrate mark commemorate / present gift / holiday vacation / weekend saturday sunday / tomorrow next / day daily /
week weekly / month monthly / year yearly annual annually / evening night tonight /
later afterwards subsequently after / before prior ahead / early soon / often frequently regularly /
always constantly / now currently presently / soon shortly / photo picture image photograph / film movie / music song /
show program programme series / game match / player athlete / goal aim objective target / score goal net / book novel /
story account tale narrative report / article story piece / letter mail email e-mail / mail message /
website site page / computer pc laptop / phone mobile cell smartphone / screen display /
software app application program / system platform solution / product item goods / device gadget machine /
tool instrument / technology tech / data information / information details info / document file record / list catalog /
plan scheme project proposal program initiative / effort attempt bid / idea concept thought / reason cause motive /
result outcome consequence / effect impact influence / success achievement / failure collapse /
chance opportunity possibility / way manner method means / method approach technique way / process procedure /
step measure action / part portion section piece / half fifty / number amount figure quantity / total sum overall /
amount sum quantity / group set / lot many numerous several plenty various multiple / some several few /
various diverse different / different distinct other / same identical equal / whole entire complete full /
enough sufficient adequate / extra additional further more / only just merely solely /
nearly almost about approximately around roughly / about regarding concerning / over above exceeding more /
under below less / near close nearby / outside front / inside within / top highest peak / bottom lowest /
beautiful pretty lovely gorgeous / good great excellent nice fine / bad poor terrible awful / strong powerful robust /
weak feeble / rich wealthy affluent / poor needy / clear obvious evident / secret hidden confidential / public open /
private personal / possible likely potential / certain sure / real genuine actual true / true correct accurate right /
false wrong incorrect untrue / quiet silent calm / loud noisy / warm hot / cold cool chilly / clean tidy /
dirty filthy / sink scupper / maintain upkeep maintenance / clean cleaning cleanse / train training /
meet satisfy fulfil / ensure guarantee assure / guarantee warranty / valid effective / expire end lapse /
renew extend lengthen prolong / cancel annul revoke terminate / order purchase / ship shipping delivery shipment /
package parcel / schedule arrange plan book organize / book reserve / demo demonstration presentation /
presentation talk / interested keen / interest curiosity / urge encourage / encourage motivate /
inform notify tell advise / share tell / express voice convey show / experience adventure / clifftop cliff /
rescue save / release free / escape flee / hide conceal / destroy demolish ruin wreck / damage harm / break smash /
burn fire / cut slash / hit strike / move shift relocate / push press / pull drag / jump leap / walk stroll /
run race / drive ride / fly flight / wait await / stay remain / live reside dwell / sleep rest / rest relax /
play perform act / sing chant / write compose author pen / read peruse / draw sketch /
publish issue release launch introduce unveil / vote elect choose / president leader / minister secretary /
candidate contender nominee / campaign drive / party faction / investigate probe examine inquiry investigation /
spokesman spokeswoman spokesperson / reporter journalist / expert specialist / scientist researcher / study research /
spread expand / lack shortage scarcity / rate level / level degree / quality standard norm / type kind sort /
name title / aware conscious / ready prepared / available accessible / unavailable inaccessible / able capable /
unique distinctive / special particular / specific particular / popular favored / favorite favourite preferred /
color colour / center centre / organize organise / organization organisation institution body /
analyze analyse examine / eradicate eliminate erase remove delete wipe expunge purge rid /
remove eliminate delete uninstall discard withdraw / discard dump dispose scrap /
optimize optimise improve enhance streamline maximize / streamline simplify / arrange organize plan schedule set /
instruct order direct command tell / order command instruct mandate direct require /
mandate require oblige compel obligate / force compel coerce oblige / concede admit acknowledge /
admit confess concede / unwell sick ill / airborne aerial / adjust adapt modify tailor customize /
customize tailor personalize customise personalise bespoke tailor-made customized /
bespoke custom customized tailored personalized tailor-made / notify inform alert tell /
challenged struggling troubled / augment increase enhance boost / heighten increase raise elevate amplify intensify /
elevate raise lift enhance / amplify magnify increase / expand broaden widen enlarge /
expenses costs spending expenditure / spend expenditure pay / procure obtain acquire purchase source /
procurement purchase acquisition sourcing / bundle package /
all-inclusive comprehensive all-encompassing complete all-in-one / comprehensive complete thorough extensive full /
thorough comprehensive detailed in-depth / handle manage deal process / ponder consider contemplate think reflect /
consider weigh contemplate evaluate / evaluate assess judge appraise review / assess evaluate measure gauge /
globe world / global worldwide international / worldwide globally international / rectify correct fix remedy /
remedy fix cure / possess own have hold / undisclosed unnamed unspecified unknown anonymous secret /
unnamed anonymous unidentified unspecified / anonymous nameless unnamed /
transform change convert revolutionize alter / scrutinize examine inspect study /
radiant bright glowing shining luminous gleaming brilliant / bright brilliant vivid radiant / precise exact accurate /
exactly precisely / undertake perform conduct / conduct perform carry run / execute perform carry implement /
implement execute deploy introduce adopt / adopt embrace implement / embrace adopt welcome accept /
affirm confirm assert / assert claim maintain insist contend / insist maintain demand / argue contend claim quarrel /
quarrel argue dispute row / dispute argument conflict disagreement /
clandestine covert secret stealthy surreptitious undercover /
covertly secretly clandestinely surreptitiously stealthily discreetly / stimulate boost encourage spur /
spur prompt encourage boost drive / bold audacious daring brave / brave courageous bold /
endeavor effort attempt undertaking / involve include entail / entail involve require / register enrol enroll sign /
enroll register sign join / seamless smooth effortless / functionality feature capability /
capability ability function / ability capacity skill / skill talent ability expertise /
expertise skill knowledge know-how / entitled eligible qualified / guidance advice supervision direction /
supervision oversight / oversee supervise manage / formulate create devise /
no-cost free complimentary costless cost-free / uncomplicated simple easy / user-friendly easy-to-use intuitive /
intuitive easy user-friendly / mock tease ridicule jeer taunt / tease mock joke kid / chide scold tease /
scold reprimand rebuke / joke jest kid / jaunt excursion trip outing / excursion trip tour /
precarious unstable shaky / unstable shaky volatile / flawed defective faulty / faulty defective broken /
predict forecast foresee expect / forecast prediction outlook projection / outlook forecast prospect /
prospect possibility outlook / classify categorize label / label tag / menace threat danger /
recover regain retrieve reclaim / security safety / proclaim declare announce / owing due /
merit benefit advantage value / value worth / indication sign signal / signal sign indicate /
indicate show signal suggest / mounting growing rising increasing / burgeoning growing booming /
booming thriving growing / thrive flourish prosper / dip drop fall decline / plunge dive plummet /
downturn slump decline recession / franchise chain / chairman chair chairperson / empire conglomerate /
depletion exhaustion / glance look glimpse / divulge reveal disclose / gaze look stare / progress advance advancement /
advance progress move / incident event accident / event incident occasion / calamity disaster catastrophe tragedy /
rebound recover bounce / debut premiere launch / prominent leading notable well-known / notable remarkable noteworthy /
exceptional extraordinary outstanding remarkable / outstanding excellent exceptional superb / sensation hit /
sibling brother sister / fighter combatant warrior / subdue restrain overpower / confine restrict limit /
restrict limit curb constrain / curb limit restrain control / restrain curb hold / stabilize steady / steady stable /
foster promote encourage nurture / propel drive push / strategy tactic plan approach / device appliance /
cite quote mention / energy-saving efficient / unveil reveal introduce / encompass include cover / blend mix combine /
combine merge unite join / unite combine unify / earn gain make / reputation fame / fame renown / depend rely /
integrate combine incorporate / incorporate include integrate / high-quality premium quality top-notch /
top-notch excellent first-rate top-tier / cutting-edge advanced state-of-the-art modern / clothing apparel attire /
changeable variable / amenity facility / facility plant building / catered tailored / suit fit / unified single /
extraordinary amazing / amazing incredible astonishing / incredible unbelievable / hassle-free easy /
monitor track watch supervise / track follow monitor trace / hospitable welcoming / reception welcome / greet welcome /
greeting welcome / aversion dislike hatred / detest hate loathe / intrigued interested curious /
deliberate consider ponder / cooperation collaboration / collaborate cooperate / eager keen enthusiastic /
surplus excess / beforehand advance / well-liked popular / eliminate end / use usage utilise employ exploit /
purchaser buyer / assistance help / inquiry question / permit license allow / ascertain determine /
determine establish find / establish found create set / suffer endure experience / experience undergo /
tolerate accept / suspect believe / guess estimate / estimate calculate / calculate compute / assign allocate give /
appoint name / nominate name / dedicate devote / devote commit / commit dedicate / donate give contribute /
contribute give add / gather collect assemble / collect accumulate / accumulate gather amass / distribute share hand /
divide split separate / separate split part / connect link join / attach connect fasten / contest compete challenge /
challenge dispute / oppose resist / object oppose / protest object / complain grumble / complaint grievance /
urge press / persuade convince / affect influence impact / deceive trick mislead fool / cheat swindle defraud /
fraud deceit deception scam / scam fraud swindle / steal rob / theft robbery burglary / thief robber burglar /
murder homicide / murderer killer / abuse mistreat / threaten menace / intimidate threaten / punish penalize /
penalty fine punishment / ban prohibition / permission authorization consent / authorize permit approve /
illegal unlawful / legal lawful / lawsuit suit case / sue prosecute / verdict ruling decision / decision choice /
appeal request / resignation departure / departure exit / retire quit / retirement pension /
teenager teen adolescent youth / youngster youth / adult grown-up / citizen national resident /
resident inhabitant occupant / refugee migrant / migrant immigrant / neighbor neighbour / visitor tourist guest /
tourist visitor traveler / traveler traveller passenger / driver motorist / pilot aviator / sailor seaman /
farmer grower / chef cook / actor performer star / performer artist entertainer / singer vocalist / musician artist /
author writer / editor publisher / artist painter / director filmmaker / athlete sportsman / coach trainer manager /
champion winner / winner victor / championship title / tournament competition / competition contest / trophy cup /
stadium arena / pitch field / league division / season campaign / recovery rehabilitation / cancer tumor /
virus infection / vaccine jab shot vaccination / pandemic outbreak epidemic / surgery operation /
treatment therapy care / nurse carer / health wellbeing / pain ache / drunk intoxicated / pregnant expecting /
birth delivery / funeral burial / grave tomb / bury inter / blast explosion / explode detonate / shooting gunfire /
shoot fire / stab knife / weapon arms / missile rocket / troops soldiers forces / army troops / navy fleet /
ceasefire truce / invade occupy / occupy seize / withdraw retreat pull / surrender yield / liberate free /
captive prisoner hostage / prisoner inmate convict / jail imprison prison / terrorist extremist militant /
militant extremist rebel / rebel insurgent / riot unrest / unrest turmoil / chaos turmoil disorder / crisis emergency /
shortage deficit / poverty hardship / wealth riches / tax levy / salary wage pay / reward prize bonus / prize award /
loan credit / borrow lend / lender bank creditor / investor shareholder backer / shareholder investor stockholder /
stock share inventory / invest fund / funding finance investment / bankrupt insolvent / bankruptcy insolvency /
merger acquisition takeover / acquisition purchase takeover / partnership alliance collaboration /
alliance partnership coalition / supplier vendor provider / vendor supplier seller / retailer shop seller /
manufacturer maker producer / factory plant / brand label make / advertisement ad commercial / marketing promotion /
sale deal / bargain deal / coupon voucher / invoice bill / receipt invoice / subscription membership plan /
subscribe join / trial test / defect fault flaw / broken damaged faulty / spare extra / shipment consignment /
carrier courier airline / warehouse depot storehouse / logistics transport shipping /
transport transportation carry move / truck lorry / bus coach / bike bicycle motorcycle / drone unmanned uav /
airport airfield / station terminal / port harbor harbour / bridge crossing / highway motorway freeway /
route path way / path route trail / journey route / distance length / speed velocity / height altitude / weight mass /
size dimension / huge enormous vast massive immense / tiny minute minuscule / short brief / long lengthy /
deep profound / wide broad / thin slim / thick dense / empty vacant / full packed / crowded packed busy /
busy occupied / lazy idle / calm peaceful / violent brutal / brutal cruel savage / gentle mild soft /
harsh severe strict / severe serious harsh / serious severe grave / strict rigid stringent / stringent strict tough /
tough strict hard / flexible adaptable versatile / adaptable flexible adjustable / durable sturdy long-lasting /
sturdy robust strong / robust strong reliable / reliable dependable trustworthy / trustworthy reliable honest /
honest truthful sincere / loyal faithful / generous kind / kind friendly / polite courteous / rude impolite /
proud pleased / ashamed embarrassed / confused puzzled bewildered / shocked stunned surprised /
surprising unexpected astonishing startling / unexpected surprising sudden / sudden abrupt /
unusual strange odd uncommon / strange odd weird / funny amusing humorous / boring dull tedious /
interesting fascinating intriguing / attractive appealing / ugly unattractive / delicious tasty / modern contemporary /
traditional conventional classic / typical usual normal / usual normal regular / regular normal frequent /
rare uncommon / widespread common extensive / extensive wide / partial incomplete / final last / initial first /
secondary minor / supplementary additional / necessary essential required needed / essential necessary vital /
mandatory compulsory required obligatory / optional voluntary / automatic automated / manual hand-operated /
digital electronic / online internet web / virtual online / wireless cordless / network system / server host /
database store / backup copy / copy duplicate / download fetch / upload transfer / transfer move / install set setup /
setup installation configuration / configure set / update upgrade refresh / password passcode / login sign-in /
account profile / user customer / administrator admin / developer programmer engineer / engineer technician /
bug defect error / error mistake bug fault / crash failure / failure breakdown / outage failure / hack breach /
breach violation / privacy confidentiality / confidential private / encrypt encode / spy snoop /
surveillance monitoring / climate weather / rain rainfall shower / snow snowfall / wind breeze / heat warmth /
warming heating / pollution contamination / contaminate pollute / environment surroundings / environmental ecological /
green eco-friendly sustainable / renewable sustainable / electricity power energy / fuel petrol gasoline gas /
oil petroleum / coal fuel / forest woods woodland / tree plant / river stream / lake pond / sea ocean /
beach shore coast / mountain peak hill / hill slope / cliff precipice / cave cavern / island isle / desert wilderness /
animal creature beast / dog puppy hound / cat kitten / horse pony / cattle cows / bird fowl / fish seafood /
insect bug / meat flesh / bread loaf / milk dairy / plant-based vegan non-dairy / vegetarian vegan /
sweet candy dessert / restaurant eatery diner / cafe coffeehouse / hotel inn / bar pub / kitchen cookhouse /
fridge refrigerator / couch sofa / television tv / newspaper paper / magazine journal / broadcast air /
interview conversation / speech address talk / statement declaration announcement / rumor gossip / secret mystery /
mystery puzzle / hint clue suggestion / suggestion proposal recommendation / recommendation suggestion advice /
advice recommendation guidance tip / tip advice hint / instruction direction guideline / guideline instruction rule /
principle rule / requirement condition / restriction limitation limit / limit cap maximum / deadline cutoff /
postpone delay defer / reschedule postpone move / cancel scrap / conference meeting summit / workshop seminar /
webinar seminar / lecture talk / grade mark / degree qualification / diploma degree / university college /
scholar academic / professor lecturer / classroom class / library archive / museum gallery / exhibition display show /
concert performance gig / performance show / theater theatre / audience crowd spectators viewers / viewer spectator /
fan supporter admirer / hero idol / legend icon / celebrity star / monarch king queen / prince royal / royal regal /
throne crown / church chapel / mosque temple / priest clergyman / religion faith / belief faith opinion /
opinion view / stance position attitude / feeling emotion / mood temper / joy happiness delight /
sadness sorrow grief / anxiety worry concern / stress pressure strain / relief comfort / comfort console /
courage bravery / pride dignity / shame disgrace / guilt blame / trust faith confidence / doubt uncertainty /
certainty confidence / luck fortune / fortune wealth / fate destiny / dream vision / vision sight /
memory recollection / idea notion / theory hypothesis / fact truth / lie falsehood / error inaccuracy /
example instance case / sample specimen / model version / version edition / series sequence / sequence order /
pattern design / shape form / structure framework / foundation base / surface top / edge border /
border boundary frontier / corner angle / center middle / side flank / interior inside / exterior outside /
entrance entry doorway / entry entrance admission / exit way / gate door / window pane / wall barrier /
obstacle barrier hurdle / hinder obstruct impede / obstruct block / delay hold / interrupt disrupt /
bother disturb annoy / annoy irritate bother / provoke incite / ignore disregard neglect / omit exclude skip /
skip omit miss / evade avoid escape / pursue chase follow / approach near / return come / revisit return /
repeat reiterate / emphasise stress / focus concentrate / specialize focus / achieve accomplish attain reach /
succeed prosper / fail flop / accomplished skilled / skilled experienced expert / experienced skilled seasoned /
novice beginner
"""


def _synonyms() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _CLASSES.split("/"):
        roots = {root(word) for word in line.split()}
        for each in roots:
            found.setdefault(each, set()).update(roots - {each})
    return {word: frozenset(others) for word, others in found.items()}


_SYNONYMS: Final = _synonyms()
_NO_SYNONYMS: Final[frozenset[str]] = frozenset()


def synonyms_of(one: str) -> frozenset[str]:
    """The roots that share a class with a root.

    >>> root("acquire") in synonyms_of(root("purchase")), synonyms_of("zebra")
    (True, frozenset())
    """
    return _SYNONYMS.get(one, _NO_SYNONYMS)
