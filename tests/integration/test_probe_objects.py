"""The programs in libsesame-probes.so ask libbpf for nothing that sesamed.service may not do."""

from __future__ import annotations

import struct
import subprocess

import pytest

from sesame.installed import find_installed

BPF_MACHINE = 247  # EM_BPF of elf.h


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Each object in the library, as a file."""
    library = find_installed("libsesame-probes.so").read_bytes()
    place = tmp_path_factory.mktemp("objects")
    found = []
    at = library.find(b"\x7fELF", 1)
    while at >= 0:
        header = struct.unpack_from("<16sHHIQQQIHHHHHH", library, at)
        if header[2] == BPF_MACHINE:
            end = header[6] + header[11] * header[12]  # its section table comes last
            found.append(place / f"{at}.bpf.o")
            found[-1].write_bytes(library[at : at + end])
        at = library.find(b"\x7fELF", at + 1)
    assert found
    return found


def test_no_object_names_a_function_that_a_kernel_may_lack(objects):
    """libbpf before 1.4 would look for it in the kernel's modules, as CAP_SYS_ADMIN may."""
    for one in objects:
        show = ["readelf", "-sW", one]
        symbols = subprocess.run(show, capture_output=True, text=True, check=True).stdout
        assert "GLOBAL" in symbols
        assert [line for line in symbols.split("\n") if "WEAK" in line and "UND" in line] == []
