"""Files for all packages: written atomically, compressed, large.

Input: bytes, rows and paths. Output: files that appear complete or not at all (``atomic_file``,
``replacing``), the storage of a run behind a path or a URL (``Storage``), arrays that are streamed to and
mapped from ``.npy``, compressed streams, words escaped to one line, text made safe to show. This package does
not depend on word vectors.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.files.atomic import atomic_file, save_json, still_named, take_lock, withdraw, write_errors
from wordvec_ca.files.checksums import (
    CHECKSUMS,
    changed_files,
    check_file,
    check_listed,
    check_sample,
    read_checksums,
    write_checksums,
)
from wordvec_ca.files.compression import (
    Content,
    PieceStream,
    compress_by_suffix,
    compression_of,
    compression_suffix,
    open_by_content,
)
from wordvec_ca.files.display import (
    Bar,
    Curve,
    Shade,
    content_words,
    data_frame,
    html_table,
    json_text,
    terminal_text,
)
from wordvec_ca.files.folders import (
    check_files,
    check_output,
    clear_leftovers,
    nearest_existing,
    nearest_name,
    replacing,
    replacing_files,
)
from wordvec_ca.files.kinds import check_readable_again, is_read_once, kind_of
from wordvec_ca.files.lines import (
    Lines,
    escape_lines,
    is_unicode,
    parse_words,
    read_words,
    split_lines,
    unescape,
    unescape_lines,
    whole_lines,
)
from wordvec_ca.files.npy import (
    map_npy,
    read_npy_header,
    release_pages,
    reserve,
    save_npy,
    scratch_array,
    write_npy,
    write_npy_pieces,
    write_npy_stream,
)
from wordvec_ca.files.opened import OpenedArray, OpenedFile, in_memory, read_whole_folder
from wordvec_ca.files.storage import Storage, absolute_name, file_system, is_transient, is_url, patiently
