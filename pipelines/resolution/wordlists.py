"""Word lists for names: ranks, legal forms, headings, nicknames, states, sounds.

Keys are as `transliterated` returns them: lower case, no accents.
"""

MALE = frozenset({"mr", "mister", "sir", "lord", "king", "prince", "father", "brother", "uncle", "monsieur", "herr",
                  "senor", "signor", "don", "duke", "count", "baron", "emperor", "master"})  # fmt: skip
FEMALE = frozenset({"mrs", "ms", "miss", "lady", "dame", "queen", "princess", "mother", "sister", "aunt", "madame",
                    "mademoiselle", "mme", "mlle", "frau", "fraulein", "senora", "senorita", "signora", "dona",
                    "duchess", "countess", "baroness", "empress", "madam"})  # fmt: skip
HONORIFICS = MALE | FEMALE | frozenset({
    "dr", "doctor", "prof", "professor", "rev", "reverend", "hon", "honorable", "honourable", "pope", "cardinal",
    "bishop", "archbishop", "president", "chancellor", "premier", "senator", "sen", "governor", "gov",
    "congressman", "congresswoman", "representative", "rep", "judge", "justice", "general", "gen", "colonel", "col",
    "major", "maj", "captain", "capt", "lieutenant", "lt", "sergeant", "sgt", "corporal", "private", "admiral",
    "commander", "marshal", "inspector", "detective", "officer", "rabbi", "imam", "sheikh", "sultan", "tsar", "czar",
    "coach", "comrade",
})  # fmt: skip
"""Titles before a person's name that are not part of it."""

WITH_FIRST_NAME = frozenset({"king", "queen", "prince", "princess", "pope", "sir", "dame", "lady", "lord"})
"""Ranks that precede a first name alone; the others precede a family name."""

COUPLE = frozenset({"mrs", "mme", "madame", "frau", "senora", "signora"})
"""Before a full name these may denote the wife of its bearer."""

HEADINGS = frozenset({"chapter", "section", "part", "act", "scene", "book", "volume", "letter", "appendix", "canto"})
"""Words that begin a heading before a number; extractors mistake the heading for a name."""

EPITHETS = frozenset({"young", "younger", "old", "older", "little", "poor", "dear", "tiny", "elder", "late"})

POST_NOMINALS = frozenset({"phd", "md", "esq", "esquire", "obe", "mbe", "cbe", "kbe", "frs", "kcb", "gcb", "qc", "kc",
"mp",
                           "dds", "mba", "ma", "msc", "bsc", "usn", "usmc"})  # fmt: skip

GENERATIONS = {"jr": "jr", "junior": "jr", "sr": "sr", "senior": "sr"}

CORPORATE = {
    "inc": "inc", "incorporated": "inc", "corp": "inc", "corporation": "inc", "ltd": "ltd", "limited": "ltd",
    "plc": "ltd", "llc": "llc", "llp": "llp", "lp": "lp", "gmbh": "gmbh", "ag": "ag", "sa": "sa", "spa": "spa",
    "nv": "nv", "bv": "bv", "ab": "ab", "oy": "oy", "as": "as", "kk": "kk", "pty": "ltd", "co": "", "company": "",
    "companies": "",
}  # fmt: skip
"""Words for the legal form of a company, mapped to the form; "" is compatible with any."""

ARTICLES = frozenset({"the", "a", "an"})

ABBREVIATIONS = {
    "st": "saint", "mt": "mount", "ft": "fort", "univ": "university", "dept": "department", "assn": "association",
    "assoc": "association", "intl": "international", "natl": "national", "inst": "institute", "bros": "brothers",
    "govt": "government", "&": "and", "vs": "versus", "v": "versus", "ave": "avenue", "blvd": "boulevard",
    "centre": "center", "theatre": "theater", "harbour": "harbor", "labour": "labor", "defence": "defense",
    "organisation": "organization", "programme": "program",
}  # fmt: skip
"""Spelling variants of words, mapped to one spelling."""

SMALL_WORDS = frozenset({"of", "the", "and", "for", "in", "on", "at", "to", "de", "la", "du", "des", "der", "und", "et",
                         "a", "an", "&", "by", "del", "di"})  # fmt: skip
"""Words that an acronym may leave out."""

NO_FIRST_NAMES = frozenset({
    "gmina", "mount", "lake", "river", "fort", "port", "camp", "cape", "san", "santa", "saint", "new", "old", "north",
    "south", "east", "west", "northern", "southern", "eastern", "western", "upper", "lower", "great", "greater",
    "grand",
    "castle", "palace", "place", "plaza", "villa", "rio", "monte", "isle", "island", "battle", "university", "college",
    "school", "club", "bank", "museum", "hotel", "house", "diocese", "county", "district", "province", "city", "town",
    "village", "republic", "kingdom", "radio", "team", "royal", "national", "international", "first", "second", "big",
    "les", "los", "las", "super", "hms", "uss", "ss", "operation", "project", "hurricane", "typhoon",
})  # fmt: skip
"""Words that begin the names of places, organisations and events, even if a recogniser tags them otherwise."""

TURNED = frozenset({"treaty", "battle", "siege", "peace", "congress", "convention", "diocese", "archdiocese", "accord",
                    "declaration", "synod", "duchy", "abbey", "port", "gulf", "bay", "strait", "isle",
                    "county", "archbishop", "bishop"})  # fmt: skip
"""Words for what a name denotes, before "of" or at the end: the Treaty of Versailles. A University of Washington and a
Washington University are different, so such words are not included.
"""

STATES = frozenset(
    {"republic", "kingdom", "commonwealth", "federation", "principality", "sultanate", "state", "empire"}
)
"""Words for the kind of state in its full name."""

WORKS = frozenset({"film", "movie", "novel", "novella", "album", "song", "single", "ep", "series", "tv", "play",
"opera",
                   "musical", "book", "poem", "game", "comic", "comics", "manga", "anime", "soundtrack", "magazine",
                   "newspaper", "painting", "episode", "story", "memoir", "franchise", "miniseries"})  # fmt: skip
"""Words in the parenthesis of a title of a work, whose text may name what the work is based on."""

NICKNAMES = {
    nick: frozenset(names.split())
    for nick, names in {
        "abe": "abraham", "al": "albert alan alfred alexander", "alex": "alexander alexandra", "andy": "andrew",
        "barb": "barbara", "ben": "benjamin benedict", "bernie": "bernard", "bert": "albert herbert robert",
        "beth": "elizabeth", "betty": "elizabeth", "bill": "william", "billy": "william", "bob": "robert",
        "bobby": "robert", "cathy": "catherine", "charlie": "charles", "chris": "christopher christian christine",
        "chuck": "charles", "dan": "daniel", "danny": "daniel", "dave": "david", "debbie": "deborah", "dick": "richard",
        "don": "donald", "ed": "edward edwin", "eddie": "edward", "fred": "frederick alfred", "freddie": "frederick",
        "gene": "eugene", "greg": "gregory", "hank": "henry", "harry": "henry harold", "jack": "john", "jake": "jacob",
        "jeff": "jeffrey geoffrey", "jen": "jennifer", "jenny": "jennifer", "jerry": "gerald jerome", "jim": "james",
        "jimmy": "james", "joe": "joseph", "joey": "joseph", "johnny": "john", "jon": "jonathan", "kate": "katherine",
        "kathy": "katherine catherine", "ken": "kenneth", "larry": "lawrence", "liz": "elizabeth", "lou": "louis",
        "maggie": "margaret", "matt": "matthew", "max": "maximilian maxwell", "meg": "margaret", "mickey": "michael",
        "mike": "michael", "nick": "nicholas", "norm": "norman", "pat": "patrick patricia", "peg": "margaret",
        "peggy": "margaret", "pete": "peter", "phil": "philip phillip", "ray": "raymond", "rick": "richard frederick",
        "rob": "robert", "robbie": "robert", "ron": "ronald", "ronnie": "ronald", "sam": "samuel samantha",
        "sandy": "alexander sandra", "steve": "steven stephen", "sue": "susan", "ted": "theodore edward",
        "terry": "terence teresa", "tim": "timothy", "tom": "thomas", "tommy": "thomas", "tony": "anthony antonio",
        "abby": "abigail", "art": "arthur", "becky": "rebecca", "cliff": "clifford", "clint": "clinton",
        "dom": "dominic",
        "doug": "douglas", "drew": "andrew", "elly": "eleanor", "ernie": "ernest", "frank": "francis franklin",
        "gabe": "gabriel", "geoff": "geoffrey", "gerry": "gerald gerard", "herb": "herbert", "howie": "howard",
        "jackie": "jacqueline", "jess": "jessica", "josh": "joshua", "kim": "kimberly", "kit": "christopher",
        "leo": "leonard", "len": "leonard", "lenny": "leonard", "lew": "lewis", "mandy": "amanda", "marty": "martin",
        "mel": "melvin melanie", "mitch": "mitchell", "molly": "mary", "nat": "nathan nathaniel",
        "nate": "nathan nathaniel",
        "ned": "edward edmund", "nell": "eleanor", "nora": "eleanor", "ollie": "oliver", "polly": "mary",
        "randy": "randall", "reg": "reginald", "reggie": "reginald", "rich": "richard", "roddy": "roderick",
        "rudy": "rudolph rudolf", "russ": "russell", "sally": "sarah", "sid": "sidney", "stan": "stanley",
        "stu": "stuart stewart", "tess": "theresa teresa", "theo": "theodore", "trish": "patricia", "vicky": "victoria",
        "wally": "walter", "wes": "wesley", "zach": "zachary",
        "vince": "vincent", "walt": "walter", "will": "william", "willie": "william", "zack": "zachary",
    }.items()
}  # fmt: skip

WELL_KNOWN = {
    "us": "united states", "usa": "united states", "united states of america": "united states",
    "uk": "united kingdom", "united kingdom of great britain and northern ireland": "united kingdom",
    "un": "united nations", "eu": "european union", "uae": "united arab emirates",
    "ussr": "soviet union", "union of soviet socialist republics": "soviet union",
}  # fmt: skip
"""Names of states and unions that texts use without introduction, by their folded words."""

# Longest first: the first match wins.
SOUNDS = (
    ("shch", "S"), ("tsch", "C"), ("tch", "C"), ("sch", "S"), ("dzh", "J"), ("kh", "h"), ("zh", "J"), ("ch", "C"),
    ("sh", "S"),
    ("ph", "f"), ("th", "t"), ("gh", "g"), ("ck", "k"), ("cz", "C"), ("ts", "z"), ("tz", "z"), ("qu", "k"), ("dj", "J"),
    ("dh", "d"), ("ks", "x"), ("q", "k"), ("c", "k"), ("w", "v"), ("j", "J"), ("yo", "e"), ("yu", "u"), ("ya", "a"),
    ("ye", "e"),
    ("ue", "u"), ("oe", "o"), ("ae", "a"), ("ou", "u"), ("oo", "u"), ("iy", "i"), ("ii", "i"), ("ij", "i"), ("ei",
    "ai"), ("ay", "ai"), ("y", "i"),
)  # fmt: skip
"""Letter groups for one sound of another script, mapped to one letter."""
