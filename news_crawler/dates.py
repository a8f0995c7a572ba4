"""Dates as newspapers, archives and crawlers write them.

    2024-05-01 12:30          26-FEB-1987 15:01:01.79     May 9, 2019
    2024/5/1, 20240501        Mon, 26 Feb 1987 15:01 GMT  9th of May 2019

Only the day counts: the time of day and whatever follows the date are ignored. `03/04/2019` is March to some and April
to others, so it is not understood.
"""

import re
from datetime import date

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_NAME = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR, _DAY = r"(?P<year>\d{4})(?!\d)", r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_WEEKDAY = r"\s*(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b[.,]*\s*)?"
_FORMATS = tuple(
    re.compile(_WEEKDAY + pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<year>\d{4})(?P<separator>[-/.])(?P<month>\d{1,2})(?P=separator)(?P<day>\d{1,2})(?!\d)",
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?!\d)",
        rf"{_DAY}[\s-]*(?:of\s+)?{_NAME}[\s,-]*{_YEAR}",
        rf"{_NAME}\s*{_DAY}[\s,]+{_YEAR}",
    )
)


def parse_date(text: str) -> date | None:
    """Return the date that `text` begins with; None if no format fits or the calendar lacks the day."""
    for pattern in _FORMATS:
        match = pattern.match(text)
        if match:
            parts = match.groupdict()
            month = MONTHS.index(parts["name"][:3].lower()) + 1 if "name" in parts else int(parts["month"])

            # Numbers in the form of a date may be none, such as the 31st of June.
            try:
                return date(int(parts["year"]), month, int(parts["day"]))
            except ValueError:
                return None
    return None
