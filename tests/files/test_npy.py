"""Arrays written to streams, and quantities as text."""

import io
import math
import zipfile

import numpy as np
import pytest

from wordvec_ca.files import npy
from wordvec_ca.files.npy import map_npy, save_npy, write_npy
from wordvec_ca.showable import duration, size


@pytest.mark.parametrize("shape", [(0,), (5,), (0, 3), (7, 3), (4, 2, 3)])
@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_a_written_array_is_read_by_numpy(monkeypatch, shape, block_bytes):
    monkeypatch.setattr(npy, "BLOCK_BYTES", block_bytes)
    array = np.random.default_rng(1).normal(size=(*shape, 2))[..., 0]  # a view with gaps
    stream = io.BytesIO()
    write_npy(stream, array, np.float32)
    expected = io.BytesIO()
    np.save(expected, np.ascontiguousarray(array, np.float32))
    assert stream.getvalue() == expected.getvalue()


def test_a_member_of_an_archive_cannot_be_rewound(tmp_path):
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive, archive.open("rows.npy", "w") as member:
        write_npy(member, rows)
    with np.load(tmp_path / "a.zip") as archive:
        np.testing.assert_array_equal(archive["rows"], rows)


def test_rows_may_have_another_shape_in_the_file(tmp_path):
    rows = np.arange(48, dtype=np.float32).reshape(4, 3, 4)
    save_npy(tmp_path / "rows.npy", rows[:, :, :2], row_shape=(1, 6))
    found = map_npy(tmp_path / "rows.npy")
    assert found.shape == (4, 1, 6)
    np.testing.assert_array_equal(found.reshape(4, 3, 2), rows[:, :, :2])


def test_durations_and_sizes():
    assert [duration(s) for s in (0.04, 119.94, 120, 3_600, 11_100, math.nan)] == [
        *("0.0 s", "119.9 s", "2 min", "60 min", "3 h 5 min", "-")
    ]
    assert [size(n) for n in (999, 1_500, 2e9, 3e15)] == ["999 B", "1.5 kB", "2.0 GB", "3000.0 TB"]
