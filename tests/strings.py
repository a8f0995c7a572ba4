"""Strings of all scripts, the same in every run: to compare tokenizers of several libraries."""

import random
import sys
import unicodedata
from functools import cache

LATIN = (0x20, 0x24F)
SAMPLES = """
    storm the port closed unknowns 2024 C# c++ .NET ASP.NET 3.14 1,000 e-mail the-mail covid-19 COVID-19's #metoo @who
    U.S. a_b x/y don't naïve CAFÉ ﬁrm ﬁx Ｆｕｌｌ ½ ² ℌ 港が 漢字 한국어 हिन्दी ไทย עברית العربية ΛΟΓΟΣ İstanbul
    😀 👍🏽 👩‍💻 🇩🇪 ❤️ [UNK] ##ing
"""
WORDS = SAMPLES.split()
GLUE = (" ", " ", " ", "", "-", ". ", ", ", "\n", "\u00a0", "\u3000", "\u200b", "\u200d", "\t")


@cache
def _assigned() -> list[str]:
    """Every character but surrogates and those that are not assigned."""
    codes = map(chr, range(sys.maxunicode + 1))
    return [character for character in codes if unicodedata.category(character) not in ("Cs", "Cn")]


def any_strings(count: int, seed: int = 1) -> list[str]:
    """Draw `count` strings: words, Latin letters and characters of every plane, in any order."""
    draw = random.Random(seed)

    def part() -> str:
        kind = draw.random()
        if kind < 0.5:
            word = draw.choice(WORDS)
            return draw.choice((word, word, word.upper(), word.title()))
        if kind < 0.75:
            return "".join(draw.choice(_assigned()) for _ in range(draw.randint(1, 3)))
        return "".join(chr(draw.randint(*LATIN)) for _ in range(draw.randint(1, 5)))

    return ["".join(part() + draw.choice(GLUE) for _ in range(draw.randint(0, 8))) for _ in range(count)]
