"""Give a released encoder rows for signs that it lacks: emoji, and terms such as c++.

    signs -> the teachers' vectors of them, and of some sentences that have them -> trained rows, in the encoder's space

No other row changes, so every text without such a sign keeps its vector. A sign starts from the teachers' embedding of
it; an emoji from that of its name, since no teacher here reads emoji. The map from the teachers' space to the
encoder's is the orthogonal one that fits the sentences best (Schönemann 1966).
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sentence_distillery.corpus.fingerprints import fingerprints, ranks
from sentence_distillery.distillation.lexical import with_lexical_channel
from sentence_distillery.distillation.vocabulary import count_terms, own_tokens
from sentence_distillery.encoder.lexical import LexicalChannel
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID, bare, is_emoji, static_tokenizer
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows
from sentence_distillery.training.losses import distillation_loss

SIGNED = ("c++", "c#", "f#", ".net", "node.js", "asp.net", "vb.net", "objective-c", "t-sql", "q&a", "r&b", "at&t")
FACES = (range(0x1F600, 0x1F650), range(0x1F910, 0x1F930), range(0x1F970, 0x1F97B), range(0x1F440, 0x1F4B0))
OTHERS = "❤♥✨⭐✅❌☀☕⚡🔥🎉🎂🎁🎄🎃🎶🎵🎤🎮🏆🏀🏈⚽⚾🌹🌸🌈🌊🌞🌟🍀🍕🍻🍷🍰🐶🐱🚀🚗✈🥇🥂💻💰📸📷📱📢📈📉🙏"
SENTENCES = 30  # of each sign
EPOCHS, BATCH, RATE, RELATIONAL, TEMPERATURE = 8, 512, 0.0025, 0.1, 0.05  # RATE is of rows of unit length
SEED = 1
LEVELS = 127


@dataclass(frozen=True, eq=False)
class Taught:
    """Texts with the teachers' vectors, (texts, dimension) float16 of unit length."""

    texts: Sequence[str]
    vectors: NDArray[np.float16]


def spoken(token: str) -> str:
    """Return what a teacher reads for a token: the name of an emoji, the characters of all else."""
    return unicodedata.name(token, token).lower() if is_emoji(token) else bare(token)


def tokens_of(tokenizer: Tokenizer) -> list[str]:
    """Return the tokens in the order of their rows."""
    numbers = tokenizer.get_vocab()
    return sorted(numbers, key=numbers.__getitem__)


def lacking(encoder: StaticEncoder) -> list[str]:
    """List the terms and emoji that an encoder has no row for."""
    known = encoder.tokenizer.get_vocab()
    faces = [chr(code) for codes in FACES for code in codes if unicodedata.name(chr(code), "")]
    return [token for token in dict.fromkeys([*own_tokens(SIGNED), *faces, *OTHERS]) if token not in known]


def texts_with(tokens: Iterable[str], kinds: Mapping[str, Sequence[str]]) -> list[str]:
    """Choose up to SENTENCES texts of each sign, drawn by a hash of the text."""
    wanted = set(tokens)
    found: dict[str, list[tuple[int, str]]] = {}
    for texts in kinds.values():
        order = ranks(fingerprints(list(texts)), SEED).tolist()
        for rank, text in zip(order, texts, strict=True):
            for token in wanted.intersection(count_terms([text])):
                found.setdefault(token, []).append((rank, text))
    return sorted({text for each in found.values() for _, text in sorted(each)[:SENTENCES]})


def with_signs(
    encoder: StaticEncoder, tokens: Sequence[str], taught: Taught, vectors: NDArray[np.float16], counted: Sequence[str]
) -> StaticEncoder:
    """Add a row for each token to an encoder in int8 with a lexical channel.

    `taught` are texts with the tokens, `vectors` the teachers' of `spoken` tokens, (tokens, dimension) of unit length;
    document frequencies of new stems are counted in `counted`.
    """
    tokenizer, size = static_tokenizer([*tokens_of(encoder.tokenizer), *tokens]), len(encoder.stored)
    wider = StaticEncoder(tokenizer, np.concatenate([encoder.table, np.zeros((len(tokens), encoder.token_dimension))]))
    known = wider.token_ids(list(taught.texts)).without(UNKNOWN_ID)
    sums = unit_rows(encoder.encode(list(taught.texts)))
    into = orthogonal(taught.vectors.astype(np.float32), sums)
    targets = taught.vectors.astype(np.float32) @ into
    lengths = np.linalg.norm(encoder.table[1:], axis=1)
    meant = vectors.astype(np.float32) @ into
    start = unit_rows(meant - meant.mean(axis=0)) * np.float32(np.median(lengths[lengths > 0]))
    rows = trained_rows(wider.table, start, known, targets)
    stored = np.clip(np.rint(rows), -LEVELS, LEVELS).astype(np.int8)  # the table counts levels
    return StaticEncoder(
        tokenizer,
        np.concatenate([encoder.stored, stored]),
        step=encoder.step,
        made_from=encoder.made_from,
        lexical=extended(encoder, with_lexical_channel(wider, wider.token_ids(list(counted)), 8, 0.0, "en"), size),
        lexical_weight=encoder.lexical_weight,
        search_weight=encoder.search_weight,
    )


def orthogonal(vectors: Floats, others: Floats) -> Floats:
    """Return the matrix of orthonormal columns that brings vectors nearest to others, (dimension, other dimension)."""
    left, _, right = np.linalg.svd(vectors.T @ others, full_matrices=False)
    return np.asarray(left @ right, np.float32)


def trained_rows(table: Floats, start: Floats, tokens: TokenIds, targets: Floats) -> Floats:
    """Train the last rows of a table on sums that the other rows are part of, (len(start), dimension)."""
    first, steps_of_epoch = len(table) - len(start), max(1, len(tokens) // BATCH)
    torch.manual_seed(SEED)
    rows = torch.nn.EmbeddingBag.from_pretrained(torch.from_numpy(start.copy()), freeze=False, mode="sum")
    length = float(np.linalg.norm(start, axis=1).mean())
    optimizer = torch.optim.Adam(rows.parameters(), lr=RATE * length)
    fixed, wanted = torch.from_numpy(tokens.sums(table)), torch.from_numpy(targets)
    new = np.flatnonzero(tokens.ids >= first)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(tokens.owners[new], minlength=len(tokens)))])
    own = TokenIds(tokens.ids[new] - tokens.ids.dtype.type(first), offsets.astype(tokens.offsets.dtype))
    generator, steps = np.random.default_rng(SEED), EPOCHS * steps_of_epoch
    for step in range(steps):
        epoch_step = step % steps_of_epoch
        if epoch_step == 0:
            order = generator.permutation(len(tokens))
        chosen = order[epoch_step * BATCH : (epoch_step + 1) * BATCH]
        batch = own.take(chosen)
        optimizer.param_groups[0]["lr"] = RATE * length * (1 - step / steps)
        optimizer.zero_grad()
        sums = fixed[chosen] + rows(torch.from_numpy(batch.ids), torch.from_numpy(batch.offsets[:-1].astype(np.int64)))
        distillation_loss(sums, wanted[chosen], RELATIONAL, TEMPERATURE)["loss"].backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return np.asarray(rows.weight.detach().numpy())


def extended(encoder: StaticEncoder, counted: StaticEncoder, size: int) -> LexicalChannel:
    """Add the stems of the tokens from `size` on to an encoder's channel; a stem that it knows keeps its frequency."""
    old, new = encoder.lexical, counted.lexical
    assert old is not None and new is not None
    frequencies = dict(zip(old.stems.tolist(), old.idf.tolist(), strict=True))
    stems, counts = new.stems[size:], new.idf[size:].tolist()
    idf = [frequencies.get(stem, own) for stem, own in zip(stems.tolist(), counts, strict=True)]
    idf_of_all = np.concatenate([old.idf, np.array(idf, np.float32)])
    return LexicalChannel(np.concatenate([old.stems, stems]), idf_of_all, old.dimension)
