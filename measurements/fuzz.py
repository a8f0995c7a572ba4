"""Compare the native core of the encoder with `tokenizers` and NumPy on random and mutated texts: `make fuzz`.

    python -m measurements.fuzz --texts 1_000_000 --from reviews.txt tweets.parquet --vocabularies vocab.txt
    python -m measurements.fuzz --models released --texts 100_000 --seeds 0 100 --share 50

Texts are drawn from all of Unicode, from its odd corners (marks, jamo, signs, emoji, surrogates), from one script at a
time, from the vocabulary's own words and terms, and mutated from files if some are given. For each text the tokens must
be the same, whichever model; vectors, of one batch in five, must be within 1e-6. A vocabulary of another model, in the
form of BERT's vocab.txt, is tried in lower case and with vectors drawn at random. The first text that differs is
printed and ends the run. A line says when a seed is done, so that a run that was stopped goes on from the next one.

`make fuzz` also runs it on a core with the sanitizers of addresses and of undefined behaviour; --alone compares
nothing, so that such a core reads many more texts in the same time.
"""

import argparse
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from tokenizers.normalizers import BertNormalizer

from sentence_distillery import StaticEncoder, load
from sentence_distillery.encoder.compression import compress
from sentence_distillery.encoder.core import Form
from sentence_distillery.encoder.native import loading
from sentence_distillery.encoder.tokenizer import CONTINUATION, UNKNOWN, is_punctuation, is_term, static_tokenizer
from sentence_distillery.io.ragged import TokenIds

BATCH = 2_000
TOLERANCE = 1e-6


def spans(text: str) -> list[tuple[int, int]]:
    """Read spans of code points, in hexadecimal; the last one of each is left out."""
    return [(int(first, 16), int(last, 16)) for first, _, last in (span.partition("-") for span in text.split())]


CORNERS = spans("""
    20-7F 00-100 300-370 600-900 900-1200 1100-1200 1AB0-1B00 1E00-2000 2000-2100 2300-2C00 3000-3100 A800-AA00
    AC00-D7A4 D800-E000 F900-10000 10A00-11F00 1D100-1D800 1F000-1FB00 20000-30000 E0000-E0200
""")  # of Unicode
SCRIPTS = spans("""
    61-7B C0-250 370-400 400-530 531-58A 591-5F5 610-6D4 900-970 980-9FF A01-A77 B82-BFB C00-C7F D00-D80 E01-E5C
    E81-EE0 F00-FBD 1000-10A0 10A0-1100 1200-139A 1780-17FA 1820-18AB 1B00-1B4D 1EA0-1F00 3041-3100 4E00-A000
    AC00-D7A4 FF01-FFDD
""")  # the letters of one script, with their marks and digits
SIGNS = " .,-+#@_/&:'!?()[]\t\n"
TERMS = [*["c++", "c#", ".net", "e-mail", "1.5", "5.3", "u.s", "@user", "#metoo", "covid-19", "a.b.c", "a_b"], *"😀❤👍"]
RAMBLING = ["naïve", "한글", "漢字", "เรือ", "か\u3099", "a\u0301\u0328", *"ﬁ½İßǄﷺ각ö᭄〮"]


def models() -> dict[str, StaticEncoder]:
    """Return the released model in several precisions, and some of odd tokens and terms, one with a hidden layer."""
    released = load("released")
    rng = np.random.default_rng(0)
    whole = (*"abcdefxyz0123456789é漢δ", "storm", "naive", "u", "s", "net", "le", "ri", "เ", "한", "᭄a")
    pieces = (*"abcdefxyz0123456789δ", "ing", "orm", "เ", "รือ", "\u302e", "ᆨ")
    odd = list(dict.fromkeys([UNKNOWN, *TERMS, *whole, *(CONTINUATION + piece for piece in pieces)]))
    table = rng.normal(size=(len(odd), 21)).astype(np.float32)
    table[0] = 0
    hidden = (rng.normal(size=(21, 37)).astype(np.float32), rng.normal(size=(37, 21)).astype(np.float32))
    return {
        "released": released,
        "released-search": load("released-search", lexical_dimension=256),
        "float16": compress(released, dimension=40, vocabulary=9_000, precision="float16"),
        "odd": StaticEncoder(static_tokenizer(odd), table),
        "deep": StaticEncoder(static_tokenizer(odd), table, hidden=hidden),
        "BERT": in_bert(StaticEncoder(static_tokenizer(odd), (table * 20).astype(np.int8))),
    }


def in_bert(encoder: StaticEncoder) -> StaticEncoder:
    """Return an encoder whose normalizer is BERT's alone."""
    tokenizer = static_tokenizer(named(encoder, range(len(encoder.stored))))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    return StaticEncoder(tokenizer, encoder.stored)


def foreign(path: Path, number: int) -> StaticEncoder:
    """Return an encoder of the tokens of another model, with this library's normalizer or BERT's."""

    def is_kept(token: str) -> bool:  # here punctuation has no vector
        return token.startswith(CONTINUATION) or is_term(token) or not any(map(is_punctuation, token))

    tokens = path.read_text(encoding="utf-8").lower().split("\n")
    words = list(dict.fromkeys([UNKNOWN, *(token for token in tokens if token and is_kept(token))]))
    table = np.random.default_rng(number).integers(-127, 128, (len(words), 8 * number + 8)).astype(np.int8)
    table[0] = 0
    encoder = StaticEncoder(static_tokenizer(words), table)
    return in_bert(encoder) if number % 2 else encoder


def texts(rng: random.Random, words: list[str], lines: list[str]) -> Iterator[str]:
    """Draw texts without end."""
    kinds: list[Callable[[], str]] = [
        lambda: "".join(chr(rng.randrange(0x110000)) for _ in range(rng.randrange(1, 12))),
        lambda: "".join(chr(rng.randrange(*rng.choice(CORNERS))) for _ in range(rng.randrange(1, 30))),
        lambda: "".join(chr(rng.randrange(*CORNERS[rng.randrange(2)])) for _ in range(rng.randrange(1, 90))),
        lambda: in_script(rng),
        lambda: "".join(rng.choice(TERMS + RAMBLING + [*SIGNS, *"abce1259"]) for _ in range(rng.randrange(1, 15))),
        lambda: "".join(rng.choice(words) + rng.choice(SIGNS) * rng.randrange(3) for _ in range(rng.randrange(1, 12))),
        lambda: mutated(rng, " ".join(rng.choice(words) for _ in range(rng.randrange(1, 20)))),
        lambda: rng.choice([*"aé漢", "##a", "c++", "e-", "😀", "\u302e", "\u0301"]) * rng.randrange(1, 1_500),
    ]
    if lines:
        kinds += [lambda: rng.choice(lines), lambda: mutated(rng, rng.choice(lines))] * 3
    while True:
        yield rng.choice(kinds)()


def in_script(rng: random.Random) -> str:
    """Draw words of one script, some with a word of ASCII or a sign between them."""
    span, drawn = rng.choice(SCRIPTS), ""
    for _ in range(rng.randrange(1, 12)):
        drawn += "".join(chr(rng.randrange(*span)) for _ in range(rng.randrange(1, 9)))
        drawn += rng.choice([" ", " ", " ", *SIGNS, " storm "])
    return drawn


def mutated(rng: random.Random, text: str) -> str:
    """Delete, repeat, insert or swap a few characters."""
    for _ in range(rng.randrange(1, 6)):
        place = rng.randrange(len(text) + 1)
        before, after = text[:place], text[place:]
        match rng.randrange(4):
            case 0:
                text = before + after[rng.randrange(1, 4) :]
            case 1:
                text = before + before[-5:] * rng.randrange(1, 3) + after
            case 2:
                text = before + chr(rng.randrange(*rng.choice(CORNERS))) + after
            case _:
                text = before + rng.choice(SIGNS + "".join(TERMS)) + after
    return text


def read_alone(encoder: StaticEncoder, batch: list[str]) -> None:
    """Have the core read a batch, and find what is no number in its vectors."""
    encoder.token_ids(batch)
    encoder.encode(batch, precision="ubinary")
    for form in (True, False):
        if not np.isfinite(encoder.encode(batch, normalize_embeddings=form)).all():
            sys.exit(f"fuzz: a vector of {batch!r} is not finite")


def differing(encoder: StaticEncoder, batch: list[str], with_vectors: bool = True) -> str | None:
    """Return what differs in a batch, if anything does."""
    found, expected = encoder.known(encoder.token_ids(batch)), encoder.model.tokens.counting_ids(batch)
    if not np.array_equal(found.ids, expected.ids) or not np.array_equal(found.offsets, expected.offsets):
        for row in range(len(batch)):
            ours, theirs = (tokens.span(row, row + 1).ids.tolist() for tokens in (found, expected))
            if ours != theirs:
                return f"tokens of {batch[row]!r}:\n{named(encoder, ours)}\n{named(encoder, theirs)}"
    return differing_vectors(encoder, batch, expected) if with_vectors else None


def differing_vectors(encoder: StaticEncoder, batch: list[str], tokens: TokenIds) -> str | None:
    """Return what differs in the vectors of a batch, if anything does."""
    for form in (Form.UNIT, Form.MEAN):
        ours = encoder.encode(batch, normalize_embeddings=form is Form.UNIT)
        theirs = np.empty_like(ours)
        encoder._simple.embed(tokens, theirs, form)
        apart = np.abs(ours - theirs).max(axis=1)
        scale = 1 if form is Form.UNIT else max(1.0, float(np.abs(theirs).max()))
        if not (apart <= TOLERANCE * scale).all():
            row = int(np.argmax(apart))
            return f"vectors of {batch[row]!r} in the form {form.name}, by {apart[row]}"
    return None


def named(encoder: StaticEncoder, ids: Iterable[int]) -> list[str]:
    """List the tokens of some ids."""
    return [encoder.tokenizer.id_to_token(number) or "" for number in ids]


def lines_of(paths: list[Path]) -> list[str]:
    """Read texts from files of lines, or from the columns of str of Parquet files."""
    found: list[str] = []
    for path in paths:
        if path.suffix != ".parquet":
            found += path.read_text(encoding="utf-8", errors="replace").splitlines()
            continue
        import pyarrow as pa
        import pyarrow.parquet as pq

        for column in pq.read_table(path).columns:
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                found += filter(None, column.to_pylist())
    return found


def try_all(encoder: StaticEncoder, stream: Iterator[str], share: int | None, name: str) -> int:
    """Try texts, and count them; one batch in `share` has its vectors compared, None compares nothing.

    Raises SystemExit at the first text that differs, with a message that shows it.
    """
    tried = 0
    for number, batch in enumerate(iter(lambda: list(islice(stream, BATCH)), [])):
        tried += len(batch)
        if share is None:
            read_alone(encoder, batch)
        elif message := differing(encoder, batch, number % share == 0):
            sys.exit(f"fuzz: {name}: {message}")
    return tried


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the native core with tokenizers and NumPy.")
    parser.add_argument("--texts", type=int, default=200_000, help="random texts for each model and seed")
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 1], metavar=("FIRST", "STOP"), help="without STOP")
    parser.add_argument("--share", type=int, default=5, help="one batch of so many has its vectors compared")
    parser.add_argument("--models", nargs="+", metavar="NAME", help="of the models here; by default all")
    parser.add_argument("--from", dest="files", type=Path, nargs="*", default=[], help="files, all of whose texts")
    parser.add_argument("--vocabularies", type=Path, nargs="*", default=[], help="of other models, a token a line")
    parser.add_argument("--alone", action="store_true", help="compare nothing")
    options = parser.parse_args()
    if loading.core() is None:
        sys.exit("fuzz: the native core is not there; compile it with `python setup.py build_ext --inplace`.")
    lines, own = lines_of(options.files), models()
    if unknown := set(options.models or []) - own.keys():
        sys.exit(f"fuzz: no model {', '.join(sorted(unknown))}; there are {', '.join(own)}.")
    chosen = {name: own[name] for name in options.models or own}
    chosen |= {path.name: foreign(path, number) for number, path in enumerate(options.vocabularies)}
    for name, encoder in chosen.items():
        assert encoder.model.tokens.native is not None, name
        words = named(encoder, range(1, len(encoder.stored)))
        sources: dict[str, Iterator[str]] = {"files": iter(lines)} if lines else {}
        for seed in range(*options.seeds):
            sources[f"seed {seed}"] = islice(texts(random.Random(seed), words, lines), options.texts)
        for source, stream in sources.items():
            tried = try_all(encoder, stream, None if options.alone else options.share, name)
            print(f"{name}, {source}: {tried:,} texts, {'read' if options.alone else 'the same'}", flush=True)


if __name__ == "__main__":
    main()
