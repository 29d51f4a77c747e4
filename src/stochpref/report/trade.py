# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The words of a trade: votes have voters, projects and support, exports of a shop have orders.

A page is written in the words of the library, customers and goods, and put into those of the trade in one place, the
last: in its text and in what stands for pictures, never in names, in commands or in the script.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from html import escape, unescape
from typing import Final, NamedTuple

from stochpref.observations import Observations
from stochpref.rows import LINES, VOTES


class Trade(NamedTuple):
    """How a trade speaks.

    words : of the library -> of the trade, small letters; longer ones win.
    has_prices : what is paid is somebody's revenue, so that demand and prices are of interest.
    """

    words: Mapping[str, str]
    has_prices: bool = True


_PLAIN: Final = Trade({})
_ORDERS: Final = Trade(
    {"purchases": "orders", "purchase": "order", "observations": "orders", "observation": "order"},
)
_VOTES: Final = Trade(
    {
        "stochpref design menus": "stochpref design menus",  # a command
        "what sells": "what is supported",
        "revenue from a customer": "cost of what a voter picks",
        "units bought": "projects picked",
        "units a customer buys": "support of a voter",
        "bought by": "picked by",
        "typical menu": "list as it is",
        "the menu faced": "the same list",
        "every menu that was faced": "the same list",
        "share of customers who buy it, %": "share of voters who pick it, %",
        "different goods in the basket": "projects on the ballot",
        "share of customers, %": "share of voters, %",
        "share of customers": "share of voters",
        "these customers": "these voters",
        "does it predict what was bought?": "does it predict the votes?",
        "leaves it on the shelf whatever it costs; some customers still buy it": "does not pick it whatever it costs; "
        "some voters still do",
        "the demand": "the support",
        "expected demand": "expected support",
        "purchases": "ballots",
        "purchase": "ballot",
        "observations": "ballots",
        "observation": "ballot",
        "baskets": "ballots",
        "basket": "ballot",
        "customers": "voters",
        "customer": "voter",
        "goods": "projects",
        "a good": "a project",
        "each good": "each project",
        "of each good": "of each project",
        "the good": "the project",
        "best good": "best project",
        "1 good": "1 project",
        "prices": "costs",
        "price": "cost",
        "buys": "picks",
        "buy": "pick",
        "bought": "picked",
        "menus": "lists",
        "menu": "list",
    },
    has_prices=False,
)
# Tags, with attributes that are not read aloud, and whatever is no text: the script, the style, commands, names.
_PIECES: Final = re.compile(r"(<script.*?</script>|<style.*?</style>|<pre.*?</pre>|<bdi>.*?</bdi>|<[^>]*>)", re.DOTALL)
_PICTURE: Final = re.compile(r'src="data:image/svg\+xml;base64,([^"]*)"')
_LABEL: Final = re.compile(r"(<text[^>]*>)([^<]*)")
_ALOUD: Final = re.compile(r'((?:alt|aria-label)=")([^"]*)')


def trade_of(observations: Observations) -> Trade:
    """Return how to speak of observations: as votes or orders if a reader has noted that they are."""
    notes = observations.notes
    if any(note.startswith(VOTES) for note in notes):
        return _VOTES
    return _ORDERS if any(note.startswith(LINES) for note in notes) else _PLAIN


def spoken(text: str, trade: Trade, names: Iterable[str] = ()) -> str:
    """Return a text in the words of a trade; names in it stay as they are."""
    if not trade.words:
        return text
    words = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, trade.words), key=len, reverse=True))})(?!\w)", re.I)
    kept = sorted((name for name in {*names, *map(escape, names)} if words.search(name)), key=len, reverse=True)
    either = re.compile("|".join([*map(re.escape, kept), words.pattern]), re.I)

    def put(found: re.Match[str]) -> str:
        own = found.group()
        said = trade.words.get(own.lower())
        if own in kept or said is None:
            return own
        return said[:1].upper() + said[1:] if own[:1].isupper() else said

    return either.sub(put, text)


def page_in(html: str, trade: Trade, names: Iterable[str]) -> str:
    """Return a page in the words of a trade."""
    if not trade.words:
        return html
    known = tuple(names)
    pieces = _PIECES.split(html)
    for k, piece in enumerate(pieces):
        if k % 2 == 0:
            pieces[k] = trade.words.get("a good", "a good")[2:] if piece == "good" else spoken(piece, trade, known)
        elif piece.startswith("<") and not piece.startswith(("<script", "<style", "<pre", "<bdi")):
            aloud = _ALOUD.sub(lambda found: found.group(1) + spoken(found.group(2), trade, known), piece)
            pieces[k] = _labelled(aloud, trade, frozenset(known)) if aloud.startswith("<img") else aloud
    return "".join(pieces)


def _labelled(tag: str, trade: Trade, names: frozenset[str]) -> str:
    """Return the tag of a picture whose labels are of the trade."""
    found = _PICTURE.search(tag)
    if found is None:
        return tag
    svg = base64.b64decode(found.group(1)).decode()

    def put(label: re.Match[str]) -> str:
        own = unescape(label.group(2)).lower()
        is_known = own in trade.words and label.group(2) not in names
        return label.group(1) + (escape(trade.words[own]) if is_known else label.group(2))

    packed = base64.b64encode(_LABEL.sub(put, svg).encode()).decode()
    return tag[: found.start(1)] + packed + tag[found.end(1) :]
