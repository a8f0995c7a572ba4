"""The tables of a corpus: articles, sentences, and dropped texts."""

import pyarrow as pa

DROPPED_FILE = "dropped.parquet"
HELD_OUT_FILE = "held_out.parquet"

ARTICLES = pa.schema(
    [
        pa.field("url", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("published", pa.date32()),
        pa.field("title", pa.string()),
        pa.field("text", pa.string(), nullable=False),
    ]
)

# Pages that a crawl met and did not keep; `status` is the HTTP status, null if there was none.
CRAWL_DROPPED = pa.schema(
    [
        pa.field("url", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("status", pa.int32()),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("detail", pa.string()),
    ]
)

# `document` is the row of the article, counted over all parts; `position` is the sentence's place in its document,
# dropped sentences included, so that kept and dropped rows together give the document back.
SENTENCES = pa.schema(
    [
        pa.field("document", pa.int64(), nullable=False),
        pa.field("position", pa.int32(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("tokens", pa.list_(pa.string()), nullable=False),
        pa.field("content_tokens", pa.list_(pa.string()), nullable=False),
    ]
)

# Sentences that no model is trained on; `document` and `position` as in SENTENCES.
HELD_OUT = pa.schema([SENTENCES.field(name) for name in ("document", "position", "text")])

# `position` is -1 if the whole document was dropped.
DROPPED = pa.schema([*HELD_OUT, pa.field("reason", pa.string(), nullable=False)])

# The fingerprint of each evaluation text.
EVALUATION_FINGERPRINTS = pa.schema([pa.field("fingerprint", pa.uint64(), nullable=False)])
