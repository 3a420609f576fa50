"""Replies about nothing, as long as real ones."""

from functools import cache

from conspectus.prompts.fake.chance import Dice
from conspectus.prompts.fake.lengths import Kind, length

WORDS = (
    "the a of and in to from with over under near old new small large north south river valley mill bridge harbour "
    "market garden winter summer letter paper clock lantern kettle baker miller clerk captain teacher neighbour "
    "council village county museum archive ledger survey record chapter entity report relation community founded "
    "moved opened closed described visited repaired measured counted wrote carried joined led kept found gave took "
    "early later often seldom quietly together again first second third twelve forty hundred long short bright"
).split()
"""The words of all made-up text."""

_STOCK = 60_000


def words(dice: Dice, count: int) -> str:
    """Return that many words, drawn one by one."""
    return " ".join(dice.choice(WORDS) for _ in range(count))


@cache
def _stock() -> str:
    """One long text that replies are cut from: making words one by one would cost more than the rest of a request."""
    dice = Dice("stock")
    sentences = [words(dice, dice.whole(6, 18)).capitalize() + "." for _ in range(_STOCK // 60)]
    return " ".join(sentences)


def prose(key: object, characters: int) -> str:
    """Return sentences of about that many characters, always the same for the same key."""
    stock = _stock()
    start = stock.find(". ", Dice("start", key).whole(0, len(stock) // 2)) + 2
    while len(stock) < start + characters + 40:
        stock += " " + stock
    end = stock.find(" ", start + characters)
    return stock[start:end].rstrip(".,") + "."


def reply_text(key: object, kind: Kind) -> str:
    """Return prose as long as a real reply of that kind: the key draws which."""
    return prose(key, length(kind, Dice("length", key).unit()))
