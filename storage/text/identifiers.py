"""Identifiers in software texts: options, functions, variables and files.

They are recognised only by their form, in any language; each form determines the kind.
"""

import re
from collections.abc import Iterator

import regex
from conspectus.storage.text.nlp import Phrase

OPTION, FUNCTION, VARIABLE, FILE = "OPTION", "FUNCTION", "VARIABLE", "FILE"

IDENTIFIERS = frozenset({OPTION, FUNCTION, VARIABLE, FILE})
"""Kinds of identifiers that are case- and sign-sensitive: `-S` is not `-s`."""

_SUFFIXES = (
    "bash|bat|bz2|c|cc|cfg|conf|cpp|css|csv|db|deb|dll|docx?|el|exe|gif|go|gv|gz|h|hpp|html?|ini|iso|java|jpe?g|js|json"
    "|jsonl|log|lua|md|mk|o|odt|patch|pdf|php|pl|png|ps|py|rb|rpm|rs|rst|service|sh|so|sql|sqlite|svg|tar|tcl|tex|tgz"
    "|toml|ts|tsv|txt|xlsx?|xml|xz|ya?ml|zip"
)
_LEFT = r"(?<![\p{L}\p{N}_$/.:@&=%+#~\\-])"
_FILE = rf"{_LEFT}(?!\p{{L}}\.\p{{L}}\b)"  # "d.h." and "e.g." are not files
_FORMS = (
    # A part of an address is not a name.
    ("", r"(?:\b[a-z][a-z0-9+.-]{1,9}://|\bwww\.|\bmailto:)\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    (OPTION, rf"{_LEFT}--[A-Za-z][A-Za-z0-9]+(?:-[A-Za-z0-9]+)*+(?![\w/])"),
    (FILE, rf"{_LEFT}(?:~|\.{{1,2}})?(?:/[\w.+-]*[\p{{L}}\p{{N}}_][\w.+-]*){{2,}}/?"),
    (
        FILE,
        rf"{_FILE}(?:~/)?\.?[\p{{L}}\p{{N}}_][\w+-]*(?:\.[\w+-]+)*\.(?:{_SUFFIXES})(?![\w(-]|\.\w)",
    ),
    (FUNCTION, rf"{_LEFT}[A-Za-z_][\w:]*\w(?=\(\))"),
    (VARIABLE, rf"(?:(?<![\p{{L}}\p{{N}}_])\$\{{?|{_LEFT})[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![\w(-])"),
    (VARIABLE, r"(?<![\p{L}\p{N}_])\$\{?[A-Z]{2,}(?![\w(-])"),
    (FUNCTION, rf"{_LEFT}[A-Za-z][A-Za-z0-9]+(?:_[A-Za-z0-9]+)+(?![\w/-]|\.\w)"),
    (FUNCTION, rf"{_LEFT}[a-z]{{2,}}[0-9]*(?:[A-Z][a-z0-9]+)+(?![\w/-])"),
)
_ANY = regex.compile("|".join(f"(?P<form{number}>{form})" for number, (_, form) in enumerate(_FORMS)))

_AROUND = ".,;:!?)\"'"
_SIGNS = f"[{_AROUND}]*+"
_NOT_A_WORD = re.compile(rf"(?:\s*+{_SIGNS}[A-Z]*+[^\W\d_A-Z]*+{_SIGNS}(?!\S))*+\s*+(\S*+)")
"""Some plain words, like most of a text, and what stands between blanks after them."""
_MAY_CONTAIN = re.compile(r"[@/$_]|--|\(\)|www\.|mailto:|\.[a-z]|[a-z0-9][A-Z]")
"""What every form requires some of."""
_INNER_CAPITAL = re.compile("[a-z][A-Z]")


def identifiers(text: str) -> Iterator[Phrase]:
    """Yield the identifiers of a text in order; addresses, no part of which is a name, have an empty type.

    >>> [(each.text, each.type) for each in identifiers("Call gv_render() with --all; see /etc/gv/rc.conf and $HOME.")]
    [('gv_render', 'FUNCTION'), ('--all', 'OPTION'), ('/etc/gv/rc.conf', 'FILE'), ('HOME', 'VARIABLE')]
    """
    for token in _NOT_A_WORD.finditer(text):
        if not _MAY_CONTAIN.search(token[1]):
            continue
        if token[1].strip(_AROUND).isalpha() and not _INNER_CAPITAL.search(token[1]):
            continue  # ".el", "www."
        for found in _ANY.finditer(text, *token.span(1)):
            kind = _FORMS[int(str(found.lastgroup).removeprefix("form"))][0]
            surface = found[0].rstrip(".,;")
            start = found.start()
            if kind == VARIABLE:
                bare = surface.lstrip("${")
                start, surface = start + len(surface) - len(bare), bare
            yield Phrase(start, start + len(surface), surface, kind)
