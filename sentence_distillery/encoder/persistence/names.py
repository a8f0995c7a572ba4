"""The names of a model's files, tensors and entries."""

from typing import Final

CONFIG: Final = "config.json"
MODULES: Final = "modules.json"  # sentence-transformers: which modules, in which order
SETTINGS: Final = "config_sentence_transformers.json"
TOKENIZER: Final = "tokenizer.json"
WEIGHTS: Final = "model.safetensors"
CARD: Final = "README.md"  # the model card
DENSE: Final = "1_Dense"
DENSES: Final = (DENSE, "2_Dense")  # the layers after the sum
NESTED: Final = "0_StaticEmbedding"  # a folder in which other libraries may keep table and tokenizer

TABLE: Final = "embeddings"  # model2vec's name, which sentence-transformers knows too
TORCH_TABLE: Final = "embedding.weight"  # sentence-transformers' own name
FACTORS: Final = "weights"  # model2vec's factor of each token; sentence-transformers multiplies by it in float32
ROWS: Final = "mapping"  # model2vec's row of each token, if tokens share rows

STEMS: Final = "lexical.stems"  # the lexical channel: the hash of each token's stem,
IDF: Final = "lexical.idf"  # and its inverse document frequency

TEXT_RULES: Final = "text_rules"  # in config.json: how the library that made the model turns texts into tokens
SHA256: Final = "weights_sha256"  # in config.json, by file below the model's directory
