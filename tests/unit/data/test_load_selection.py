"""One spec may stand for many files."""

import pytest

from data import expand_spec
from data.errors import SourceError


@pytest.fixture
def folder(tmp_path):
    """A folder with files of several kinds, and one folder in it."""
    for name in ("b.csv", "a.csv.gz", "c.parquet", "README.md", "._b.csv", "within/d.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize("spec", ["sample", "csv:a.csv", "a.csv", "nonsense:x", "", "csv:"])
def test_a_spec_of_one_source_is_itself(spec):
    """Whether it exists is for the source to say."""
    assert expand_spec(spec) == (spec,)


def test_a_folder_is_all_files_of_the_source_in_order(folder):
    """Other files, and folders within, do not count."""
    assert expand_spec(f"csv:{folder}") == (f"csv:{folder}/a.csv.gz", f"csv:{folder}/b.csv")
    assert expand_spec(f"parquet:{folder}/") == (f"parquet:{folder}/c.parquet",)


def test_a_folder_without_a_source_is_all_files_that_one_knows(folder):
    """Each file is read by its ending."""
    names = ("a.csv.gz", "b.csv", "c.parquet")
    assert expand_spec(str(folder)) == tuple(f"{folder}/{name}" for name in names)


def test_a_pattern_is_all_files_that_match(folder):
    """Two stars reach into folders within."""
    assert expand_spec(f"csv:{folder}/?.csv") == (f"csv:{folder}/b.csv",)
    assert expand_spec(f"{folder}/*.parquet") == (f"{folder}/c.parquet",)
    assert expand_spec(f"csv:{folder}/**/*.csv") == (
        f"csv:{folder}/b.csv",
        f"csv:{folder}/within/d.csv",
    )


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    """What exists is meant as it stands."""
    (tmp_path / "a[1].csv").touch()
    assert expand_spec(f"csv:{tmp_path}/a[1].csv") == (f"csv:{tmp_path}/a[1].csv",)


def test_nothing_found_is_an_error(folder):
    """A folder or pattern without files is a mistake, not an empty set."""
    with pytest.raises(SourceError, match=r"no file in this folder ends in \.parquet"):
        expand_spec(f"parquet:{folder}/within")
    with pytest.raises(SourceError, match="no file has such a name"):
        expand_spec(f"csv:{folder}/*.txt")
