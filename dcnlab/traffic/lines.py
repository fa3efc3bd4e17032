"""Files of words: patterns and distributions that users give."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from topos.files import limits
from topos.spec import SpecError

#: The most bytes of such a file.
_LIMIT = 16 * limits.MEGABYTE


def words_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The number of each line, from 1, with its words, which blanks or commas separate; ``#`` begins a comment.

    Lines without words are left out.  Raises SpecError with one line.
    """
    try:
        text = limits.read(path, _LIMIT)
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}") from None
    except (limits.LimitError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: {error}") from None
    for number, line in enumerate(text.splitlines(), 1):
        if words := line.partition("#")[0].replace(",", " ").split():
            yield number, words
