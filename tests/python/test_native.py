"""The binding: errors cross with their path, line and hint."""

from __future__ import annotations

import pytest

from sesame import native
from sesame.errors import InputError


def test_error_of_the_core_is_an_input_error_with_its_place(tmp_path):
    file = tmp_path / "m.toml"
    file.write_text('name = "m"\nspeed = 3\n')
    with pytest.raises(InputError) as caught:
        native.read_machine(str(file))
    assert caught.value.path == str(file)
    assert caught.value.line == 2
    assert str(caught.value).startswith(f"{file}:2: ")


def test_quantities_are_read_as_in_machine_files():
    assert native.parse_duration_ps("1.5 us") == 1_500_000
    assert native.parse_size_bytes("64 KiB") == 65536
    with pytest.raises(InputError, match="units: s, ms, us, ns or ps"):
        native.parse_duration_ps("1 parsec")
