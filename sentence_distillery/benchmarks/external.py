"""The files of external benchmark sets: the SHA-256 that each must have, and its public home.

A `home` names one file whose bytes have the pinned SHA-256, so a moved branch or another edition is noticed, never
read. None means that no public file has these bytes: the set was packed or rebuilt, and the user has to supply it.
"""

from dataclasses import dataclass

GITHUB = "https://raw.githubusercontent.com"
STSB = f"{GITHUB}/PhilipMay/stsb-multi-mt/30de0dec4ee199b7f42351d3f1a0b19592955385/data"
SICK = f"{GITHUB}/brmson/dataset-sts/master/data/sts/sick2014"
MRPC = "https://dl.fbaipublicfiles.com/senteval/senteval_data"
EWT = f"{GITHUB}/UniversalDependencies/UD_English-EWT/15d613d8"
CAPTIONS = f"{GITHUB}/prakhar-dhakar/Image-Captioning/8af7560c2844653cf27c68195e36821a89944c22"


@dataclass(frozen=True)
class ExternalFile:
    name: str
    sha256: str
    home: str | None


@dataclass(frozen=True)
class ExternalSet:
    name: str
    licence: str
    files: tuple[ExternalFile, ...]


def _set(name: str, licence: str, *files: tuple[str, str | None, str]) -> ExternalSet:
    """Describe a set by its `files`, each (name, directory of the home, SHA-256)."""
    entries = (ExternalFile(file, sha256, f"{base}/{file}" if base else None) for file, base, sha256 in files)
    return ExternalSet(name, licence, tuple(entries))


EXTERNAL = (
    _set(
        "stsb",
        "scores CC BY-SA 4.0, texts mixed",
        ("stsb-en-train.csv", STSB, "e1e84fec60bbb598735552f54a35f4949904a484750fd2cb11e2720e49f63da6"),
        ("stsb-en-dev.csv", STSB, "d29586e96558c4eb52cf5ea5d14e9c24d3bf0e44f111b017caba43a5adc33226"),
        ("stsb-en-test.csv", STSB, "11523b625219e94e9ca05d2816b5f02cac1614c5894fe657376fa0806378d053"),
    ),
    _set(
        "sick",
        "CC BY-NC-SA 3.0",
        ("SICK_train.txt", SICK, "266cf8047149bd1d68138dd30439f3122bff30069740ac6705bb6197d9f1b48e"),
        ("SICK_trial.txt", SICK, "5a88cfb62f8c6bd2a3cce0f2421ba2cb8c2be5ab4a800f6f01e2c64aafb7db56"),
        ("SICK_test_annotated.txt", SICK, "2b8aa806658d6fc23c6824c83776c2d4fee7556000817b5ec0f982861413b7d0"),
        ("readme.txt", SICK, "4ff14a2b07603f2214c2803a6e012048c795be5ba4e5d1d33b87d7210f633bf7"),
    ),
    _set(
        "mrpc",
        "Microsoft Research terms",
        ("msr_paraphrase_train.txt", MRPC, "60a9b09084528f0673eedee2b69cb941920f0b8cd0eeccefc464a98768457f89"),
        ("msr_paraphrase_test.txt", MRPC, "a04e271090879aaba6423d65b94950c089298587d9c084bf9cd7439bd785f784"),
    ),
    _set(
        "imdb",
        "none stated",
        ("imdb_train.parquet", None, "2b359b4e57801a13ebbabe8f03c3d8b9d9151104bb8e5614ffe11515907ee080"),
        ("imdb_test.parquet", None, "962a8b6594956eec5d135695c68065b9ca18cf29bbcaeec93edb53fe4483446d"),
        ("imdb_unsup.parquet", None, "80619d9ee1eb404c482ead294af8f75953491fed648b7d4ddbfdb07f5b535c75"),
    ),
    _set(
        "news",
        "mixed, research use",
        ("news.parquet", None, "e631900a1399f223863bbe896177d49a49c49b1bf4bc536ffa78d9f74725b0ab"),
    ),
    _set(
        "captions",
        "none stated, cite Hodosh et al. 2013",
        ("Flickr8k.token.txt", CAPTIONS, "9b8608b02da9040581f1e3d4c8738db1fb6f63314342100432adc3962f77d71a"),
    ),
    _set(
        "ud-english-ewt",
        "CC BY-SA 4.0",
        ("en_ewt-ud-train.conllu", None, "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b"),
        ("en_ewt-ud-dev.conllu", EWT, "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6"),
        ("en_ewt-ud-test.conllu", EWT, "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd"),
    ),
)


def licence(name: str) -> str:
    """Return the licence of an external set as its owners state it."""
    return next(entry.licence for entry in EXTERNAL if entry.name == name)


def checksum(name: str, file: str) -> str:
    """Return the pinned SHA-256 of `file` of an external set."""
    return next(item.sha256 for entry in EXTERNAL if entry.name == name for item in entry.files if item.name == file)
