"""Searches that advance together, with one answer to all their requests.

A search is written as a generator that yields a request, is sent the answer, and returns its
result. It cannot see the others, so its result is the one that it has alone.
"""

from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")
Result = TypeVar("Result")
Key = TypeVar("Key", bound=Hashable)


def run_alone(
    search: Generator[Question, Answer, Result], answer: Callable[[Question], Answer]
) -> Result:
    """Result of one search."""
    # A generator begins by being sent nothing.
    answered: Any = None
    with closing(search):
        while True:
            try:
                question = search.send(answered)
            except StopIteration as ended:
                result: Result = ended.value
                return result
            answered = answer(question)


def run_in_step(
    searches: Mapping[Key, Generator[Question, Answer, Result]],
    answer: Callable[[Mapping[Key, Question]], Sequence[Answer]],
) -> Iterator[tuple[Key, Result]]:
    """Result of each of several searches, as they end; those that have ended leave the others.

    Args:
        searches: By key.
        answer: Answers what those searches ask that have not ended, in their order.
    """
    going = dict(searches)
    # A generator begins by being sent nothing.
    answers: Sequence[Any] = [None] * len(going)
    try:
        while going:
            questions = {}
            for key, answered in zip(list(going), answers, strict=True):
                try:
                    questions[key] = going[key].send(answered)
                    continue
                except StopIteration as ended:
                    result: Result = ended.value
                del going[key]
                yield key, result
            answers = answer(questions) if questions else []
    finally:
        for search in going.values():
            search.close()
