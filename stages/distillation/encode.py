"""Encode text with a trained student, one sentence a line, in as much memory as one batch takes."""

import logging
import sys

from sentence_distillery.encoder.encode_file import _open, _parser, compare, encode_stream, load_student
from sentence_distillery.io.artifacts import InputError

log = logging.getLogger("stages")


def main(argv: list[str] | None = None) -> None:
    logging.basicConfig(level=logging.INFO, format="encode: %(message)s", stream=sys.stderr)
    parser = _parser()
    options = parser.parse_args(argv)
    if not options.compare and not options.output:
        parser.error("give INPUT and OUTPUT, or --compare with two sentences")
    try:
        encoder = load_student(options.model)
        if options.compare:
            print(f"{compare(encoder, *options.compare):.4f}")
            return
        with _open(options.input) as stream:
            totals = encode_stream(encoder, stream, options.input, options.output)
    except InputError as error:
        sys.exit(f"encode: {error}")
    log.info(
        "%d lines in %s; zero vectors: %d blank, %d without a known word",
        *(totals.lines, options.output, totals.blank, totals.unknown),
    )


if __name__ == "__main__":
    main()
