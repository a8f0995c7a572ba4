"""The languages of the multilingual encoder, and the names that each source gives them."""

from dataclasses import dataclass
from typing import Final

ENGLISH: Final = "en"


@dataclass(frozen=True)
class Language:
    """A language besides English."""

    code: str  # ISO 639-1
    name: str  # in English
    dictionary: str  # ISO 639-3, as the FreeDict dictionaries are named; also in the names of Tatoeba's files
    locales: tuple[str, ...]  # as catalogues of translations are named, in the order in which they are read
    taught: bool = True  # whether the multilingual teacher knows the language


_CHINESE: Final = ("zh_CN", "zh_Hans", "zh-hans", "zh-Hans", "zh_TW", "zh_Hant", "zh-hant", "zh-Hant", "zh")
LANGUAGES: Final = (
    Language("ar", "Arabic", "ara", ("ar",)),
    Language("de", "German", "deu", ("de", "de_DE")),
    Language("es", "Spanish", "spa", ("es", "es_ES")),
    Language("fr", "French", "fra", ("fr", "fr_FR")),
    Language("hi", "Hindi", "hin", ("hi", "hi_IN"), taught=False),
    Language("it", "Italian", "ita", ("it", "it_IT")),
    Language("ja", "Japanese", "jpn", ("ja",)),
    Language("ko", "Korean", "kor", ("ko", "ko_KR")),
    Language("nl", "Dutch", "nld", ("nl", "nl_NL")),
    Language("pl", "Polish", "pol", ("pl", "pl_PL")),
    Language("pt", "Portuguese", "por", ("pt", "pt_PT", "pt_BR")),
    Language("ru", "Russian", "rus", ("ru", "ru_RU")),
    Language("sv", "Swedish", "swe", ("sv", "sv_SE"), taught=False),
    Language("th", "Thai", "tha", ("th",)),
    Language("tr", "Turkish", "tur", ("tr", "tr_TR")),
    Language("vi", "Vietnamese", "vie", ("vi",), taught=False),
    Language("zh", "Chinese", "cmn", _CHINESE),
)
BY_CODE: Final = {language.code: language for language in LANGUAGES}
BY_LOCALE: Final = {locale: language.code for language in LANGUAGES for locale in language.locales}
