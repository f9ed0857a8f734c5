"""Files that workflows write: at once, with their permissions, and only where they can be written."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions, VirtinfraError
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.written_file import WrittenFile, spell_mode


def read_mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@pytest.mark.parametrize(
    ("now", "mode", "expected"),
    [
        (None, "0640", 0o640),
        (None, "u=rw,g=r,o=", 0o640),
        (None, "g+w", 0o664),
        (0o600, "g+r", 0o640),
        (0o644, "0600", 0o600),
    ],
)
def test_a_file_gets_its_permissions(tmp_path: Path, now: int | None, mode: str, expected: int) -> None:
    path = tmp_path / "file"
    if now is not None:
        path.write_text("content")
        path.chmod(now)
    file = WrittenFile(path, "content", mode, "page_path", "page_file_mode")
    assert file.find_change()
    file.write()
    assert (path.read_text(), read_mode(path), file.find_change()) == ("content", expected, None)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("given", "expected"),
    [(0o640, "0640"), (0o644, "0644"), (0o600, "0600"), (0o400, "0400"), (0o755, "0755"), (0o777, "0777")]
    + [(text, text) for text in ("0640", "0604", "u=rw,g=r,o=", "rw", "2750")]
    + [("640", "0640"), ("400", "0400"), (None, None)],
)
def test_permissions_that_yaml_reads_as_a_number(given: object, expected: str | None) -> None:
    assert spell_mode("page_file_mode", given) == expected


@pytest.mark.parametrize("digits", ["600", "640", "644", "660", "664", "666", "400", "440", "444", "750", "755", "777"])
def test_permissions_as_a_decimal_number(digits: str) -> None:
    """These would be other ones, such as 1200 for 640, and so would the string of what YAML reads in 0640."""
    for given in (int(digits), str(int(digits, 8))):
        if isinstance(given, str) and not set(given) <= set("01234567"):
            continue
        with pytest.raises(InvalidOptions, match=f"^page_file_mode: {given!r} is no mode. .* such as '0640'.$"):
            spell_mode("page_file_mode", given)


def test_the_difference_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old\xff")
    path.chmod(0o644)
    change = WrittenFile(path, "new, at 2", "0600", "page_path", compared="new, at 1").find_change()
    headers = {"before_header": f"{path} (0644)", "after_header": f"{path} (0600)"}
    assert change == {"before": "old\ufffd", "after": "new, at 1", **headers}


def test_a_link_is_replaced_and_its_target_kept(tmp_path: Path) -> None:
    target, path = tmp_path / "target", tmp_path / "file"
    target.write_text("other")
    path.symlink_to(target)
    WrittenFile(path, "content", "0644", "page_path").write()
    assert (path.is_symlink(), path.read_text(), target.read_text()) == (False, "content", "other")


def test_a_file_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prediction fails like the run, as far as it can know; what existed is kept, and nothing else remains."""
    path, other = tmp_path / "file", tmp_path / "other"
    other.touch()
    for wrong, mode, reason in (
        (tmp_path / "none" / "file", "0644", f"the folder {tmp_path}/none does not exist. Create it."),
        (
            tmp_path / "$REPORTS" / "file",
            "0644",
            "the environment of Ansible has no variable $REPORTS. Write the path without it, such as with ~/.",
        ),
        (tmp_path / "${REPORTS}" / "x" / "file", "0644", "the environment of Ansible has no variable ${REPORTS}."),
        (tmp_path, "0644", "it is not a file."),
        (other / "file", "0644", f"{other} is a file, where a folder must be. Choose another path."),
        (other / "none" / "file", "0644", f"{other} is a file, where a folder must be."),
    ):
        with pytest.raises(VirtinfraError) as failure:
            WrittenFile(wrong, "content", mode, "page_path", "page_file_mode").find_change()
        assert str(failure.value).startswith(f"page_path: cannot write {wrong}: {reason}")
    other.unlink()
    with pytest.raises(VirtinfraError, match=r"has no variable \$REPORTS"):
        WrittenFile(tmp_path / "$REPORTS" / "file", "content", "0644", "folder", has_own_folder=True).find_change()
    (tmp_path / "$REPORTS").mkdir()
    assert WrittenFile(tmp_path / "$REPORTS" / "file", "content", "0644", "page_path").find_change()
    (tmp_path / "$REPORTS").rmdir()

    with pytest.raises(VirtinfraError) as failure:
        WrittenFile(path, "content", "rw", "page_path", "page_file_mode").find_change()
    assert str(failure.value) == ("page_file_mode: 'rw' is no mode. Write permissions such as '0640' or u=rw,g=r,o=.")

    with pytest.raises(VirtinfraError) as failure:
        WrittenFile(tmp_path / ("x" * 300), "content", "0644", "page_path").find_change()
    assert str(failure.value).endswith(": File name too long. Check the path and its permissions.")

    def refuse(*dummy: object) -> None:
        raise OSError(28, "No space left on device")

    path.write_text("earlier")
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(VirtinfraError) as failure:
        WrittenFile(path, "content", "0644", "page_path").write()
    assert str(failure.value).startswith(f"page_path: cannot write {path}: No space left on device.")
    assert (path.read_text(), list(tmp_path.iterdir())) == ("earlier", [path])
