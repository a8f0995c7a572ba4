"""The command line, `sentence-distillery`: encode, similarity, distill, evaluate, compress, explore, clean.

Each command is a thin wrapper around one library call. It imports what it needs when it runs, so that `similarity`
works with the core alone; the others name the extra that they need. Another package adds a command by an entry point,
as the crawler does.
"""

import argparse
import errno
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentence_distillery.io.artifacts import InputError, check_target
from sentence_distillery.io.errors import options_from

if TYPE_CHECKING:
    from sentence_distillery.corpus.tables.reading import Reading
    from sentence_distillery.encoder.static_encoder import StaticEncoder
    from sentence_distillery.evaluation.results import Result
    from sentence_distillery.serving.collection import Collection

PROGRAM = "sentence-distillery"
INPUT = "standard input"
PORT = 8000
COMMANDS_OF_OTHERS = "sentence_distillery.commands"  # the group of their entry points
TABLES = ".csv, .tsv, .json, .jsonl, .ndjson, .parquet, .pq, .arrow, .feather, .csv.gz, .csv.zst, ..."

log = logging.getLogger(__name__)


def encode(options: argparse.Namespace) -> None:
    """Encode texts, one per line of a file or row of a table, to .parquet or .npy."""
    from sentence_distillery.corpus.tables.table import Table, open_table
    from sentence_distillery.serving.encode_file import check_output, encode_table

    # The place of the output is checked before hours of encoding, not after.
    reading, name = _reading(options), options.input
    check_output(options.output)
    if name == "-":
        _check_lines_of_input(reading)
        totals = encode_table(_encoder(options), Table.of_texts(_input_lines()), INPUT, options.output)
    else:
        with open_table(Path(name), reading) as table:
            totals = encode_table(_encoder(options), table, name, options.output)
    log.info(
        "%s texts in %s; zero vectors: %s for blank texts, %s for texts without a known word",
        *(f"{totals.lines:,}", options.output, f"{totals.blank:,}", f"{totals.unknown:,}"),
    )


def similarity(options: argparse.Namespace) -> None:
    """Print the cosine of two texts."""
    from sentence_distillery.encoder.similarity import compare

    print(f"{compare(_encoder(options), *options.texts):.4f}")


def distill(options: argparse.Namespace) -> None:
    """Distil a static encoder from your own text and a teacher."""
    from sentence_distillery.distillation.distill import distill
    from sentence_distillery.distillation.export import save_with_card
    from sentence_distillery.encoder.persistence.writing import refuse_other_content

    if options.list_texts is not None:
        _list_texts(options)
        return

    # Not `required` of the parser, because --list-texts needs neither.
    for name in ("teacher", "output"):
        if getattr(options, name) is None:
            raise InputError(f"--{name} is missing. Only --list-texts works without a teacher and an output.")
    refuse_other_content(options.output)  # now, and not after the training
    encoder = distill(
        _texts(options.texts, _reading(options)),
        options.teacher,
        revision=options.revision,
        dimension=options.dimension,
        epochs=options.epochs,
        seed=options.seed,
        language=options.language,
        clean=not options.no_clean,
        prompt=options.prompt,
        prompt_name=options.prompt_name,
        **_reading_options(options),
        held_out=options.held_out,
        megabytes=options.megabytes,
        vocabulary=_own_vocabulary(options) or options.vocabulary,
        table_precision=options.precision,
        for_search=options.for_search,
        start_from=options.start_from,
        working_directory=options.working_directory,
    )
    save_with_card(encoder, options.output)
    log.info("%r in %s", encoder, options.output)


def _list_texts(options: argparse.Namespace) -> None:
    """Write the texts for a teacher, for vectors that are made elsewhere."""
    import pyarrow as pa

    from sentence_distillery.distillation.distill import texts_to_embed
    from sentence_distillery.io.artifacts import write_table

    # The same texts as those of the training, in the same order
    found = texts_to_embed(
        _texts(options.texts, _reading(options)),
        language=options.language,
        clean=not options.no_clean,
        vocabulary=_own_vocabulary(options),
        **_reading_options(options),
    )
    write_table(options.list_texts, pa.table({"text": found}))
    log.info("wrote %s texts to embed to %s: add the column vector", f"{len(found):,}", options.list_texts)


def _own_vocabulary(options: argparse.Namespace) -> list[str]:
    """Read the tokens of --vocabulary-file, one on each line; none if it is not given."""
    from sentence_distillery.corpus.tables.decoding import decoded_lines
    from sentence_distillery.corpus.tables.formats import check_is_file

    if options.vocabulary_file is None:
        return []
    if options.vocabulary is not None:
        raise InputError("--vocabulary and --vocabulary-file are given; give one: how many tokens, or which.")

    # A token stands on a line of its own, since it may have a comma.
    check_is_file(Path(options.vocabulary_file))
    listed = [line.strip() for line in decoded_lines(Path(options.vocabulary_file))]
    if tokens := [token for token in listed if token]:
        return tokens
    raise InputError(f"{options.vocabulary_file} has no token; give one on each line.")


def evaluate(options: argparse.Namespace) -> None:
    """Score an encoder on your texts without labels, on pairs with human ratings, or on benchmark sets."""
    _check_evaluation(options)
    if options.texts:
        _on_texts(options)
        if not (options.pairs or options.sets):
            return
    from sentence_distillery.corpus.tables.reading import Reading
    from sentence_distillery.evaluation.evaluate import Task, evaluate
    from sentence_distillery.evaluation.sets.rated_pairs import PAIR_COLUMNS, read_rated_pairs

    # Pairs have no text column: their columns are named apart.
    reading = Reading(None, options.read_as, _quoting(options))
    columns = options.pair_columns or PAIR_COLUMNS
    tasks: list[Task] = [read_rated_pairs(path, reading, columns, options.scale) for path in options.pairs]
    for result in evaluate(_encoder(options), [*tasks, *options.sets], benchmarks=options.benchmarks):
        _print(result)


def _check_evaluation(options: argparse.Namespace) -> None:
    """Refuse an option that does not apply to the files."""
    if options.teacher and not options.texts:
        raise InputError(
            f"--teacher {options.teacher} needs --texts, the files of texts on which both encoders are compared."
        )
    if not (options.texts or options.pairs or options.sets):
        raise InputError("nothing to score: give --texts and --teacher, a file of pairs, or --sets with --benchmarks.")

    # An option that would change nothing is refused: its user expects that it does something.
    for names, given, needed in (
        (("text_column", "maximum", "revision"), options.texts, "--texts"),
        (("scale", "pair_columns"), options.pairs, "a file of pairs"),
        (("read_as", "quoting"), options.texts or options.pairs, "--texts or a file of pairs"),
        (("benchmarks",), options.sets, "--sets"),
    ):
        _refuse_without(options, names, given, needed)


def _refuse_without(options: argparse.Namespace, names: Sequence[str], given: object, needed: str) -> None:
    for name in names:
        if getattr(options, name) is not None and not given:
            raise InputError(f"--{name.replace('_', '-')} does not apply without {needed}; leave it out.")


def _on_texts(options: argparse.Namespace) -> None:
    """Compare an encoder with its teacher on texts."""
    from sentence_distillery.domain.texts import evaluate_on_texts

    if not options.teacher:
        raise InputError("--texts needs --teacher, the encoder whose nearest neighbours count as correct.")
    found = evaluate_on_texts(
        _encoder(options),
        options.texts,
        options.teacher,
        revision=options.revision,
        **_reading_options(options),
        **({} if options.maximum is None else {"maximum": options.maximum}),
    )
    for result in found:
        _print(result)


def _print(result: "Result") -> None:
    """Print a figure with its interval, or why there is none."""
    from sentence_distillery.io.unavailable import Unavailable, to_text

    value = to_text(result.value) if isinstance(result.value, Unavailable) else f"{result.value:.4f}"
    if result.low is not None and result.high is not None:
        value += f" [{result.low:.4f}, {result.high:.4f}]"
    if result.left_out:
        value += f" ({result.left_out:,} draws without a figure are left out)"

    # The plain figure of a set needs no name of its protocol.
    metric = result.metric if result.protocol == "mean" else f"{result.protocol} {result.metric}"
    print(f"{result.dataset}\t{metric}\t{value}\tn = {result.n:,}")


def compress(options: argparse.Namespace) -> None:
    """Write a smaller encoder: fewer dimensions, bits or words; or one for onnxruntime and JavaScript."""
    _refuse_without(options, ("text_column", "read_as", "quoting"), options.texts, "--texts")
    encoder = _encoder(options)
    given = (options.dimension, options.precision, options.texts, options.megabytes, options.vocabulary)

    # Without a wish for a size the model is only written in another format, as it is stored, layers included.
    if options.format == "model" or any(each is not None for each in given):
        encoder = _smaller(encoder, options)
    save = encoder.save_onnx if options.format == "onnx" else encoder.save_pretrained
    save(options.output)
    log.info("%r in %s", encoder, options.output)


def _smaller(encoder: "StaticEncoder", options: argparse.Namespace) -> "StaticEncoder":
    """Compress an encoder as the options say."""
    from sentence_distillery.encoder.compression import compress

    texts = None
    if options.texts is not None:
        from sentence_distillery.distillation.corpus_files import NOTHING, read_articles

        reading = _reading(options)
        articles = read_articles(_texts([options.texts], reading), reading, by_line=True)
        texts = [text for _, text in articles]
        if not any(map(str.strip, texts)):
            raise InputError(NOTHING.format(INPUT if options.texts == "-" else options.texts))
    if options.megabytes is not None:
        return _of_size(encoder, options, texts)
    return compress(
        encoder,
        dimension=options.dimension,
        vocabulary=options.vocabulary,
        precision=options.precision or "levels",
        texts=texts,
    )


def _of_size(encoder: "StaticEncoder", options: argparse.Namespace, texts: list[str] | None) -> "StaticEncoder":
    """Search for the best encoder of a size, and print the trials."""
    from sentence_distillery.distillation.sizing import PRECISIONS, fit_to_size, trial_lines

    if texts is None:
        raise InputError("--megabytes needs --texts, on which the best encoder of that size is chosen.")
    if options.dimension is not None or options.vocabulary is not None:
        raise InputError("--megabytes chooses --dimension and --vocabulary itself: leave them out.")

    # What was tried is shown, since the choice may not be the user's.
    smaller, trials = fit_to_size(
        encoder, options.megabytes, texts, [options.precision] if options.precision else PRECISIONS
    )
    print("\n".join(trial_lines(trials)))
    return smaller


def explore(options: argparse.Namespace) -> None:
    """Look at an encoder and your texts in a browser; the same server answers OpenAI's /v1/embeddings."""
    from sentence_distillery.serving.collection import LIMIT
    from sentence_distillery.serving.server import checked_key, serve

    if options.static is not None:
        _write_page(options)
        return
    port, key = PORT if options.port is None else options.port, checked_key(options.key)

    # The texts may take a minute, so a wrong key is refused before them.
    collection = _collection(options, _encoder(options), LIMIT)
    name = Path(options.model).resolve().name
    log.info("%s texts; %r under the name '%s'", f"{len(collection.texts):,}", collection.encoder, name)
    serve(collection, name, port, key, lambda address: print(address, flush=True))


def _write_page(options: argparse.Namespace) -> None:
    """Write the page as a folder of static files."""
    from sentence_distillery.serving import static_site

    if options.port is not None or options.key is not None:
        raise InputError("--static writes files and starts no server: leave --port and --key out.")
    encoder = _encoder(options)
    static_site.check_encoder(encoder)
    static_site.check_directory(options.static)

    # Nothing is read before it is known that the page can be written
    collection = _collection(options, encoder, static_site.LIMIT)
    size = static_site.write_site(collection, Path(options.model).resolve().name, options.static)
    texts = f"{len(collection.texts):,} texts" + (f", {collection.left_out:,} left out" * bool(collection.left_out))
    log.info("%s in %s, %s MB; open %s", texts, options.static, f"{size / 1e6:.1f}", options.static / "index.html")


def _collection(options: argparse.Namespace, encoder: "StaticEncoder", limit: int) -> "Collection":
    """Read the texts to explore, at most `limit` if the user gives no other number."""
    from sentence_distillery.serving.server import read_collection

    texts = [Path(given) for given in options.texts]
    return read_collection(encoder, texts, _reading(options), limit if options.limit is None else options.limit)


def clean(options: argparse.Namespace) -> None:
    """Clean texts into sentences: language, duplicates, boilerplate."""
    from sentence_distillery.distillation.corpus_files import CLEAN, write_sentences
    from sentence_distillery.io.counters import Counters

    cleaning = CLEAN.model_copy(update={"language": options.language})
    counters = Counters("sentences")
    reading = _reading(options)
    check_target(options.output)
    for given in options.texts:
        if options.output.resolve() in (Path(given).resolve(), *Path(given).resolve().parents):
            raise InputError(f"--output {options.output} holds {given}, which is read; name another directory.")
    write_sentences(_texts(options.texts, reading), reading, cleaning, None, options.output, counters)
    if not counters.kept:
        raise InputError(f"no sentence is kept, and nothing is written; dropped: {counters.reasons()}.")
    log.info("%s sentences in %s, dropped: %s", f"{counters.kept:,}", options.output, counters.reasons() or "none")


def _reading(options: argparse.Namespace) -> "Reading":
    from sentence_distillery.corpus.tables.reading import Reading

    return Reading(**_reading_options(options))


def _reading_options(options: argparse.Namespace) -> "dict[str, Any]":
    return {"text_column": options.text_column, "read_as": options.read_as, "quoting": _quoting(options)}


def _quoting(options: argparse.Namespace) -> bool | None:
    return None if options.quoting is None else options.quoting == "yes"


def _texts(given: Sequence[str], reading: "Reading") -> "Path | list[Path] | Iterator[str | Path]":
    """Return the files and directories, and the lines of standard input for -."""
    from sentence_distillery.corpus.tables.reading import check_options, files_to_read

    if "-" not in given:
        return Path(given[0]) if len(given) == 1 else [Path(name) for name in given]
    if files := [Path(name) for name in given if name != "-"]:
        check_options(reading, {format for _, format in files_to_read(files, reading)})
    else:
        _check_lines_of_input(reading)
    return chain.from_iterable(_input_lines() if name == "-" else [Path(name)] for name in given)


def _input_lines() -> Iterator[str]:
    from sentence_distillery.corpus.tables.decoding import lines_of

    return (line.rstrip("\r\n") for line in lines_of(sys.stdin.buffer, INPUT))


def _check_lines_of_input(reading: "Reading") -> None:
    """Refuse options of tables: what comes from standard input are lines."""
    from sentence_distillery.corpus.tables.reading import check_options

    check_options(reading, {"text"})
    if reading.read_as not in (None, "lines"):
        raise InputError(f"--read-as {reading.read_as} does not apply to -, which reads lines; give a file.")


def _encoder(options: argparse.Namespace) -> "StaticEncoder":
    from sentence_distillery import load

    weight = getattr(options, "lexical_weight", None)  # an option of `encode`
    try:
        return load(options.model, revision=options.model_revision, lexical_weight=weight)
    except ValueError as error:
        raise InputError(str(error)) from error


Adds = Callable[[argparse.ArgumentParser], None]
Command = tuple[Callable[[argparse.Namespace], None], Adds, str]  # with the extra that it needs


def _encode_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", help=f".txt with a text per line, or {TABLES}; - reads lines from standard input")
    parser.add_argument(
        "output", type=Path, help="output file: .parquet (all columns of the table, and embedding) or .npy"
    )
    _reading_arguments(parser)
    _model_argument(parser)
    parser.add_argument(
        "--lexical-weight",
        type=float,
        metavar="WEIGHT",
        help="of the lexical channel in all texts; 1.2 for documents that encode_query of the released model searches "
        "(default: what the model was saved with for encode)",
    )


def _similarity_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("texts", nargs=2, metavar="TEXT", help="the two texts to compare")
    _model_argument(parser)


def _distill_arguments(parser: argparse.ArgumentParser) -> None:
    _texts_arguments(parser)

    # The teacher, and what it reads
    parser.add_argument(
        "--teacher",
        help="directory, hub id, package:<name>, module:function, or a .parquet file of vectors (text, vector)",
    )
    parser.add_argument("--output", type=Path, help="directory of the new encoder; one that is there is replaced")
    parser.add_argument("--revision", help="commit of a hub id, or your version of a function")
    parser.add_argument(
        "--prompt", help="prompt before every text that the teacher embeds (default: the one in its files)"
    )
    parser.add_argument("--prompt-name", help="name of a prompt in the teacher's files")
    parser.add_argument("--no-clean", action="store_true", help="use each text, or each line of .txt, as one sentence")
    parser.add_argument(
        "--list-texts",
        type=Path,
        metavar="FILE",
        help="only write the texts for the teacher to a .parquet file, to embed them elsewhere",
    )

    # Where training starts, and the size of the encoder
    parser.add_argument(
        "--start-from",
        metavar="ENCODER",
        help="released, or the directory of an encoder, whose token vectors training starts from; released keeps more "
        "general English (default: the teacher's embeddings of words)",
    )
    parser.add_argument("--dimension", type=int, default=256, help="dimension of the vectors, at least 1 (256)")
    parser.add_argument(
        "--megabytes",
        type=float,
        help="size limit of the encoder's files, above 0; held-out texts decide how many tokens and dimensions are "
        "kept, up to --dimension; prints the trials",
    )

    # The tokens, and how their vectors are stored
    parser.add_argument(
        "--vocabulary",
        type=int,
        metavar="TOKENS",
        help="tokens to keep, at least 1; rare words are cut into pieces (all)",
    )
    parser.add_argument(
        "--vocabulary-file",
        metavar="FILE",
        help="tokens that get a vector however rare they are, one on each line: words, terms such as c++, emoji",
    )
    _precision_argument(parser, "default: float32; with --megabytes the better of int8 and levels")
    parser.add_argument(
        "--for-search",
        action="store_true",
        help="give encode_query and encode_document a lexical channel: they find more, by four times as many numbers",
    )

    # The training
    parser.add_argument("--epochs", type=int, help="passes over the text, at least 1 (default: 5 to 20, by its size)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random draws, from 0 to 4,294,967,295 (1)")
    parser.add_argument(
        "--working-directory", type=Path, help="directory that keeps finished steps, so that a run can resume"
    )
    parser.add_argument(
        "--held-out",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of the texts, from 0 to 0.5, that training leaves out, at most 2,000 sentences; the working "
        "directory keeps them for `evaluate --texts` (0)",
    )


def _texts_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "texts", nargs="+", help=f"files or directories: .txt, .md, {TABLES}; - reads lines from standard input"
    )
    _reading_arguments(parser)
    parser.add_argument("--language", default="en", help="ISO 639-1 code; texts in other languages are dropped (en)")


def _evaluate_arguments(parser: argparse.ArgumentParser) -> None:
    # Pairs with human ratings
    parser.add_argument(
        "pairs", nargs="*", type=Path, help=f"table with the columns sentence1, sentence2 and score: {TABLES}"
    )
    parser.add_argument(
        "--pair-columns", nargs=3, metavar=("FIRST", "SECOND", "SCORE"), help="other names of these three columns"
    )

    # Texts without labels
    parser.add_argument(
        "--texts", nargs="+", type=Path, default=[], metavar="FILE", help=f"texts without labels: .txt, .md, {TABLES}"
    )
    parser.add_argument("--teacher", help="with --texts, the encoder to compare with; given as for distill")
    parser.add_argument("--revision", help="commit of a teacher that is a hub id")
    _reading_arguments(parser)
    parser.add_argument("--maximum", type=int, help="maximum number of texts to compare, at least 3 (2,000)")

    # Benchmark sets
    parser.add_argument("--sets", nargs="+", default=[], metavar="NAME", help="benchmark sets, such as scifact")
    parser.add_argument(
        "--benchmarks", type=Path, help="directory of the benchmark sets, which the stage `benchmarks` writes"
    )

    # Of the ratings, and the encoder
    parser.add_argument(
        "--scale",
        nargs=2,
        type=float,
        metavar=("LOW", "HIGH"),
        help="lowest and highest possible rating (default: the range in the file)",
    )
    _model_argument(parser)


def _compress_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", type=Path, help="directory of the smaller encoder")

    # How small it is to be
    parser.add_argument("--dimension", type=int, help="dimensions to keep, from 1 to the encoder's")
    parser.add_argument(
        "--vocabulary", type=int, metavar="TOKENS", help="tokens to keep; rare words are cut into pieces"
    )
    parser.add_argument(
        "--megabytes",
        type=float,
        help="above 0; search on --texts for the best encoder of this size, and print the trials",
    )

    # How its numbers are stored, and in which files
    _precision_argument(parser, "default: levels")
    parser.add_argument(
        "--format",
        choices=("model", "onnx"),
        default="model",
        help="onnx: for onnxruntime and transformers.js; without --dimension and --precision the stored table stays",
    )

    # What decides which directions and tokens are kept
    parser.add_argument(
        "--texts",
        metavar="FILE",
        help=f".txt, .md, {TABLES}, or a directory; the principal components of the words decide which directions "
        "are kept",
    )
    _reading_arguments(parser)
    _model_argument(parser)


def _precision_argument(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--precision",
        choices=("float32", "float16", "int8", "levels"),
        help=f"how each number is stored; levels are the 255 of int8 in float16 ({default})",
    )


def _explore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="directory or hub id of an encoder, or released, or released-search")
    _model_revision_argument(parser)
    parser.add_argument(
        "texts",
        nargs="+",
        help=f"files or directories: .txt, .md, {TABLES}; or the working directory of distill, which also has the "
        "teacher's vectors",
    )
    _reading_arguments(parser)

    # Where the page is, and who may read it
    parser.add_argument("--limit", type=int, help="maximum number of texts, at least 1 (100,000; with --static 20,000)")
    parser.add_argument(
        "--static", type=Path, metavar="DIRECTORY", help="write the page to a directory of static files, and end"
    )
    parser.add_argument("--port", type=int, help=f"port on 127.0.0.1; 0: any free port ({PORT})")
    parser.add_argument(
        "--key", help="key that requests must have; safer in the environment variable SENTENCE_DISTILLERY_KEY"
    )


def _clean_arguments(parser: argparse.ArgumentParser) -> None:
    _texts_arguments(parser)
    parser.add_argument("--output", type=Path, required=True, help="directory of the sentences, in Parquet")


def _reading_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text-column", help="column of tables that holds the text (text)")
    parser.add_argument(
        "--read-as",
        choices=("lines", "csv", "tsv", "json", "parquet", "feather"),
        help="format of the files (default: by their suffixes)",
    )
    parser.add_argument(
        "--quoting",
        choices=("yes", "no"),
        help="whether quotation marks enclose the fields of .csv and .tsv (default: decided by each file)",
    )


def _model_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", default="released", help="released, released-search, a directory, or a hub id (released)"
    )
    _model_revision_argument(parser)


def _model_revision_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model-revision", metavar="COMMIT", help="commit, branch or tag of a hub id (main)")


COMMANDS: dict[str, Command] = {
    "encode": (encode, _encode_arguments, "tables"),
    "similarity": (similarity, _similarity_arguments, ""),
    "distill": (distill, _distill_arguments, "distill"),
    "evaluate": (evaluate, _evaluate_arguments, "distill"),
    "compress": (compress, _compress_arguments, "distill"),
    "explore": (explore, _explore_arguments, "serve"),
    "clean": (clean, _clean_arguments, "corpus"),
}


@cache
def commands() -> dict[str, Command]:
    """Return all commands: those of this module, and those of other packages.

    Such a package has an entry point in the group COMMANDS_OF_OTHERS, a module with `run`, `add_arguments` and EXTRA.
    """
    found: dict[str, Command] = {}
    for point in entry_points(group=COMMANDS_OF_OTHERS):
        try:
            module = point.load()
            found[point.name] = module.run, module.add_arguments, module.EXTRA
        except Exception as error:  # somebody else's package must not keep ours from running
            print(f"{PROGRAM}: no command '{point.name}': {point.value} cannot be loaded: {error}", file=sys.stderr)
    return COMMANDS | {name: command for name, command in found.items() if name not in COMMANDS}


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(prog=PROGRAM, description="Small, fast sentence encoders from your own text.")
    top.add_argument("--version", action="store_true", help="print the version and exit")
    group = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, (run, add, _) in commands().items():
        text = (run.__doc__ or "").strip()
        add(group.add_parser(name, help=text, description=text))
    return top


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; bad input and a missing extra end it with one line and status 1."""
    given = parser()
    options = given.parse_args(arguments)
    if options.version:
        from sentence_distillery import __version__

        print(f"{PROGRAM} {__version__}")
        return
    if options.command is None:
        given.print_help()
        sys.exit(2)
    logging.basicConfig(level=logging.INFO, format=f"{options.command}: %(message)s", stream=sys.stderr)

    # Before torch is imported, which reads them once.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # for torch: spinning threads are slow beside busy processes
    os.environ.setdefault("MKL_CBWR", "AUTO")  # the same bits wherever an array begins in memory
    run, _, extra = commands()[options.command]
    try:
        with options_from("command line"):
            run(options)
            sys.stdout.flush()
    except (InputError, ValueError) as error:  # ValueError: an option out of its range
        sys.exit(f"{options.command}: {error}")
    except BrokenPipeError:  # as `| head` leaves it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python's last flush raises it again
        sys.exit(141)  # 128 + SIGPIPE
    except OSError as error:
        # All other errors of the system are named where they happen.
        if error.errno != errno.ENAMETOOLONG:
            raise
        sys.exit(f"{options.command}: '{error.filename}' is too long for the name of a file; give another one.")
    except KeyboardInterrupt:
        print(f"{options.command}: interrupted; no file is half-written. Run the command again.", file=sys.stderr)
        sys.exit(130)  # 128 + SIGINT, as a shell has it
    except ModuleNotFoundError as error:
        # A missing package is the user's to install; a missing module of this library is a fault, and keeps its
        # traceback.
        module = (error.name or "").partition(".")[0]
        # `encode` needs another one for .md, and `compress --format onnx` needs that one alone
        extra = {"markdown_it": "corpus", "onnx": "onnx", "pyarrow": extra or "tables"}.get(module, extra)
        if not extra or module == "sentence_distillery":
            raise
        sys.exit(f"{options.command} needs {error.name}; run `pip install 'sentence-distillery[{extra}]'`.")


if __name__ == "__main__":
    main()
