"""Searches that advance together: what all of them ask for is answered at once.

A search is written as a generator that yields what it asks for, is sent the answer, and returns
what it found. It cannot see who else was answered with it, so that it finds what it finds alone.
"""

from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")
Result = TypeVar("Result")
Key = TypeVar("Key", bound=Hashable)


def run_alone(
    search: Generator[Question, Answer, Result], answer: Callable[[Question], Answer]
) -> Result:
    """What one search finds."""
    try:
        asked = next(search)
        while True:
            asked = search.send(answer(asked))
    except StopIteration as ended:
        found: Result = ended.value
        return found


def run_in_step(
    searches: Mapping[Key, Generator[Question, Answer, Result]],
    answer: Callable[[Mapping[Key, Question]], Sequence[Answer]],
    threads: Executor | None = None,
) -> Iterator[tuple[Key, Result]]:
    """What each of several searches finds, as they end; those that have ended leave the others.

    Args:
        searches: By key.
        answer: Answers what those searches ask that have not ended, in their order.
        threads: Advance searches side by side; one after the other if None.
    """
    side_by_side = map if threads is None else threads.map
    answers: list[Answer | None] = [None] * len(searches)
    going = dict(searches)
    try:
        while going:
            steps = list(side_by_side(_advance, going.values(), answers))
            asked = {}
            for key, (question, found) in zip(list(going), steps, strict=True):
                if question is not None:
                    asked[key] = question
                    continue
                del going[key]
                yield key, found[0]
            answers = list(answer(asked)) if asked else []
    finally:
        for search in going.values():
            search.close()


def _advance(
    search: Generator[Question, Answer, Result], answer: Answer | None
) -> tuple[Question | None, tuple[Result, ...]]:
    """What a search asks next; once it has ended, None and what it found."""
    try:
        return search.send(answer), ()  # type: ignore[arg-type]
    except StopIteration as ended:
        return None, (ended.value,)
