"""A printed word, pasted into bash, is the word that it stands for."""

import os
import subprocess
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from data.shell import quote_word, write_command
from optimizer.cli.notes import wrap_text
from optimizer.printable import clean_text

HOSTILE = st.lists(
    st.one_of(
        st.sampled_from([*"-~!$`'\"\\ \n\t*?#&|;<>(){}[]=%^", "$(id)", "\u202e", "\udce9"]),
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
        st.integers(0x80, 0xFF).map(lambda byte: os.fsdecode(bytes([byte]))),
    ),
    min_size=1,
).map("".join)


@settings(max_examples=30)
@given(words=st.lists(HOSTILE, min_size=1, max_size=8), width=st.integers(10, 100))
def test_words_are_pasted_as_they_are(words, width):
    """Also where a terminal is narrow and shows no sign that commands it; none is a flag."""
    words = [os.fsdecode(os.fsencode(word)) for word in words]
    paths = [Path(word) for word in words if word.strip("/") and "/" not in word]
    line = write_command("judge", *words, *paths)
    assert clean_text(line, "") == line
    for word in filter(lambda word: "'" in word, map(quote_word, words)):
        assert word in wrap_text(f"see {word} there", width)
    program = line.removeprefix("python -m optimizer judge")
    shown = subprocess.run(["bash", "-c", f"printf '%s\\0' {program}"], capture_output=True)
    read = [os.fsdecode(word) for word in shown.stdout.split(b"\0")[:-1]]
    assert shown.stderr == b""
    assert read[: len(words)] == words
    assert [Path(word) for word in read[len(words) :]] == paths
    assert not [word for word in read[len(words) :] if word.startswith("-")]
