"""Matrices in Matrix Market and Harwell-Boeing form, and their extended form."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest
from scipy.io import hb_write, mmwrite
from scipy.sparse import coo_array, csc_matrix

from sesame.errors import InputError
from sesame.workloads import in_extended_form, read_matrix, write_extended

FULL = np.array([[4.0, -1.5, 0], [-1.5, 0.25, 2], [0, 2, 1]])
# As the collection stores a symmetric matrix: columns of the lower half.
SYMMETRIC = f"""{"A small one":72}SMALL
{3:14}{1:14}{1:14}{1:14}{0:14}
RSA{"":11}{3:14}{3:14}{5:14}{0:14}
(16I5)          (16I5)          (5E14.6)
    1    3    5    6
    1    2    2    3    3
{4:14.6E}{-1.5:14.6E}{0.25:14.6E}{2:14.6E}{1:14.6E}
"""


def test_symmetric_harwell_boeing_gets_its_other_half(tmp_path):
    path = tmp_path / "small.rsa"
    path.write_text(SYMMETRIC)
    assert np.array_equal(read_matrix(path).toarray(), FULL)


def test_skew_symmetric_half_is_negated(tmp_path):
    path = tmp_path / "small.rza"
    path.write_text(SYMMETRIC.replace("RSA", "RZA"))
    expected = np.tril(FULL) - np.tril(FULL, -1).T
    assert np.array_equal(read_matrix(path).toarray(), expected)


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_matrix_market_is_read_also_compressed(symmetry, tmp_path):
    mmwrite(tmp_path / "full.mtx", coo_array(FULL), symmetry=symmetry)
    path = tmp_path / "full.mtx.gz"
    path.write_bytes(gzip.compress((tmp_path / "full.mtx").read_bytes()))
    assert np.array_equal(read_matrix(path).toarray(), FULL)


def test_damaged_compression_is_reported(tmp_path):
    data = bytearray(gzip.compress(bytes(range(256)) * 20))
    data[20:40] = bytes(20)
    (tmp_path / "full.mtx.gz").write_bytes(data)
    with pytest.raises(InputError, match="cannot read"):
        read_matrix(tmp_path / "full.mtx.gz")


def test_extended_form_is_as_described(tmp_path):
    hb_write(tmp_path / "full.rua", csc_matrix(FULL))
    write_extended(read_matrix(tmp_path / "full.rua"), tmp_path / "full.extended")
    data = (tmp_path / "full.extended").read_bytes()
    assert struct.unpack_from("<8sqqq", data) == (b"SESAMEXF", 1, 3, 7)
    rows = [struct.unpack_from("<qddd", data, 64 + 32 * row) for row in range(3)]
    assert rows == [(row, *FULL[row]) for row in range(3)]
    assert len(data) == 64 + 3 * 32


def test_only_a_matrix_in_another_form_is_replaced(tmp_path):
    mmwrite(tmp_path / "full.mtx", coo_array(FULL))
    name = str(tmp_path / "full.mtx")
    with in_extended_form("cg", ["--matrix", name]) as options:
        assert options == ("--matrix", name)
    with in_extended_form("sparse", ["--cold"]) as options:
        assert options == ("--cold",)
    for given in (["--cold", "--matrix", name], ["--cold", f"--matrix={name}"]):
        with in_extended_form("sparse", [*given, "-x"]) as options:
            assert [options[0], options[1], options[3]] == ["--cold", "--matrix", "-x"]
            made = options[2]
            with in_extended_form("sparse", ["--matrix", made]) as again:
                assert again == ("--matrix", made)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a Harwell-Boeing file"),
        ("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 4\n", "cannot read the matrix"),
        ("%%MatrixMarket matrix coordinate real general\n3 2 1\n1 1 4\n", "3 x 2, expected a sq"),
        (
            "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 4 1\n",
            "the numbers are complex",
        ),
        (SYMMETRIC.replace("RSA", "PSA"), "matrix type 'PSA' in line 3"),
        (SYMMETRIC.replace("RSA", "RSE"), "matrix type 'RSE' in line 3"),
        (SYMMETRIC[: SYMMETRIC.index("(5E") + 60], "cannot read the matrix"),
        (SYMMETRIC[:-20], "cannot read the matrix"),
        (SYMMETRIC.replace("    3    3\n", "    3    9\n"), "index 8 exceeds matrix dimension 3"),
    ],
)
def test_what_is_no_matrix_of_real_numbers_is_refused(text, message, tmp_path):
    path = tmp_path / "matrix"
    path.write_text(text)
    with pytest.raises(InputError, match="matrix: ") as caught:
        read_matrix(path)
    assert message in str(caught.value)


def test_matrix_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.mtx: cannot read: .*No such file"):
        read_matrix(tmp_path / "nowhere.mtx")
